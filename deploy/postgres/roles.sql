-- The database role of web, worker, beat and observer, which cannot rewrite what people did.
--
-- `manage.py prepare_database` runs it after its migrations, with the name and the password of
-- APP_DATABASE_URL. By hand, as the role that migrates, after each `manage.py migrate`:
--   psql --set=ON_ERROR_STOP=1 --file=deploy/postgres/roles.sql "$DATABASE_URL"
--   psql --command="ALTER ROLE ledger_app LOGIN PASSWORD '...'" "$DATABASE_URL"   -- once
-- Then give the services a DATABASE_URL with this role, and keep the other for migrations.
--
-- It may read and write rows. Functions of their owner create and drop partitions of the fact tables
-- for it, and group booked lines by family. It may add to the history and to its chain; it may not
-- change, remove or empty them, nor switch off their triggers. It owns nothing and creates nothing in
-- the schema: what it could attach to a table would run as the owner at the next migration
-- (take_back.sql, for databases of before).

BEGIN;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_app') THEN
        CREATE ROLE ledger_app NOLOGIN;
    END IF;
END $$;

-- Whoever migrates can take back what the role owned in earlier versions.
GRANT ledger_app TO CURRENT_USER;

REVOKE CREATE ON SCHEMA public FROM PUBLIC, ledger_app;
GRANT USAGE ON SCHEMA public TO ledger_app;
GRANT EXECUTE ON FUNCTION
    public.accounting_create_partition(text, timestamptz, timestamptz),
    public.accounting_drop_partitions(text, text[]),
    public.accounting_regroup_lines(text, date[], text[]),
    public.accounting_regroup_hours(text, date[], text[])
TO ledger_app;

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
REVOKE UPDATE ON line_hours FROM ledger_app;
-- Their sums by family are made by functions of their owner.
REVOKE INSERT, UPDATE, DELETE ON charge_family_day, charge_family_hours FROM ledger_app;

-- Entries are never edited. Of what one person requests and another confirms, only the
-- confirmation is added.
REVOKE UPDATE, DELETE ON accounting_entry, accounting_closeoverride, accounting_reopenrequest
    FROM ledger_app;
GRANT UPDATE (confirmed_by_id, confirmed_at)
    ON accounting_closeoverride, accounting_reopenrequest TO ledger_app;

-- Migrations are not the services' business.
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM ledger_app;

COMMIT;
