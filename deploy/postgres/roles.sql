-- The database role of web, worker, beat and observer, which cannot rewrite what people did.
--
-- `manage.py prepare_database` runs it after its migrations, with the name and the password of
-- APP_DATABASE_URL. By hand, as the role that migrates, after each `manage.py migrate`:
--   psql --set=ON_ERROR_STOP=1 --file=deploy/postgres/roles.sql "$DATABASE_URL"
--   psql --command="ALTER ROLE ledger_app LOGIN PASSWORD '...'" "$DATABASE_URL"   -- once
-- Then give the services a DATABASE_URL with this role, and keep the other for migrations.
--
-- It may read and write rows, make partitions of the fact tables and drop them. It may add to
-- the history and to its chain; it may not change, remove or empty them, nor switch off their
-- triggers: it does not own them.

BEGIN;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_app') THEN
        CREATE ROLE ledger_app NOLOGIN;
    END IF;
END $$;

-- Whoever migrates can go on altering what the role owns.
GRANT ledger_app TO CURRENT_USER;

GRANT USAGE, CREATE ON SCHEMA public TO ledger_app;

-- Only an owner makes and drops partitions. A table that is owned already is not locked; and
-- rights are granted afterwards, because ANALYZE of a partition waits for whoever has changed
-- its row of the catalog, and this waits for ANALYZE: that would be a deadlock.
DO $$
DECLARE
    fact regclass;
BEGIN
    FOR fact IN
        SELECT c.oid::regclass FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace
          AND c.relkind IN ('r', 'p')
          AND (c.relkind = 'p' OR c.relispartition)
          AND c.relowner <> 'ledger_app'::regrole
    LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO ledger_app', fact);
    END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ledger_app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ledger_app;

-- The history of every table, its chain, and the reasons that belong to it. A reason is
-- completed while its transaction runs; what was sealed holds a copy of it.
DO $$
DECLARE
    history regclass;
BEGIN
    FOR history IN
        SELECT tgrelid::regclass FROM pg_trigger WHERE tgname = 'chain'
        UNION SELECT 'accounting_auditlink'::regclass
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM ledger_app', history);
        EXECUTE format('GRANT SELECT, INSERT ON %s TO ledger_app', history);
    END LOOP;
END $$;
REVOKE DELETE ON pghistory_context FROM ledger_app;

-- Lines of closed periods are added by a close and never change (triggers refuse it too).
REVOKE UPDATE, DELETE ON charge_line FROM ledger_app;

-- Entries are never edited. Of what one person requests and another confirms, only the
-- confirmation is added.
REVOKE UPDATE, DELETE ON accounting_entry, accounting_closeoverride, accounting_reopenrequest
    FROM ledger_app;
GRANT UPDATE (confirmed_by_id, confirmed_at)
    ON accounting_closeoverride, accounting_reopenrequest TO ledger_app;

-- Migrations are not the services' business.
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM ledger_app;

COMMIT;
