-- The tables of facts belonged to the role of the services in earlier versions. Who migrates takes
-- them back, before anything else runs as the owner: a trigger, a rule or a function of the services'
-- role would run with the owner's rights. It ends with an error that names what it finds.
--
-- `manage.py prepare_database` runs it before its migrations. By hand, before `manage.py migrate`:
--   psql --set=ON_ERROR_STOP=1 --file=deploy/postgres/take_back.sql "$DATABASE_URL"

BEGIN;

DO $$
DECLARE
    services oid := (SELECT oid FROM pg_roles WHERE rolname = 'ledger_app');
    fact regclass;
    found text;
BEGIN
    IF services IS NULL THEN
        RETURN;
    END IF;
    SELECT string_agg(what, ', ') INTO found FROM (
        SELECT 'function ' || oid::regprocedure AS what FROM pg_proc
        WHERE proowner = services AND pronamespace = 'public'::regnamespace
        UNION ALL
        SELECT 'trigger ' || tgname || ' on ' || tgrelid::regclass FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relowner = services AND NOT tgisinternal
            AND c.relnamespace = 'public'::regnamespace
        UNION ALL
        SELECT 'rule ' || rulename || ' on ' || ev_class::regclass FROM pg_rewrite r
        JOIN pg_class c ON c.oid = r.ev_class WHERE c.relowner = services
            AND c.relnamespace = 'public'::regnamespace
        UNION ALL
        SELECT 'table ' || oid::regclass FROM pg_class
        WHERE relowner = services AND relnamespace = 'public'::regnamespace
            AND relkind IN ('r', 'f', 'm', 'S') AND NOT relispartition
    ) made;
    IF found IS NOT NULL THEN
        RAISE 'the role ledger_app made what no version of the product makes: %. Look at it, and drop it', found;
    END IF;
    FOR fact IN
        SELECT oid::regclass FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relowner = services
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO CURRENT_USER', fact);
    END LOOP;
END $$;

COMMIT;
