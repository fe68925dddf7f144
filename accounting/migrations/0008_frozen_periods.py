"""What a close has frozen cannot be changed by SQL (money.md M28).

Lines are inserted while their revision is not closed, in the transaction that closes it. After
that every statement that would change them is refused, also for the owner of the tables; the
hash of the close finds what was changed with triggers off.
"""

from django.db import migrations

HISTORIES = ("billingperiod", "periodrevision", "entry")

FREEZE = """
CREATE FUNCTION accounting_refuse_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: closed periods do not change', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'A later fact or price becomes a correction in the first open period.';
END $$;

CREATE FUNCTION accounting_is_frozen(bigint) RETURNS boolean
LANGUAGE sql STABLE AS
'SELECT closed_at IS NOT NULL FROM accounting_periodrevision WHERE id = $1';

-- Once for a statement: a close inserts a million lines. Also instead of a foreign key.
CREATE FUNCTION accounting_refuse_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT revision_id FROM added) line
        LEFT JOIN accounting_periodrevision revision ON revision.id = line.revision_id
        WHERE revision.id IS NULL OR revision.closed_at IS NOT NULL
    ) THEN
        RAISE EXCEPTION 'INSERT of % is refused: closed periods do not change', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER frozen_insert AFTER INSERT ON charge_line REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_refuse_added();
CREATE TRIGGER frozen BEFORE UPDATE OR DELETE ON charge_line
    FOR EACH ROW EXECUTE FUNCTION accounting_refuse_frozen();
CREATE TRIGGER frozen_truncate BEFORE TRUNCATE ON charge_line
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_refuse_frozen();

CREATE TRIGGER frozen_insert BEFORE INSERT ON accounting_statement
    FOR EACH ROW WHEN (accounting_is_frozen(NEW.revision_id))
    EXECUTE FUNCTION accounting_refuse_frozen();
CREATE TRIGGER frozen BEFORE UPDATE OR DELETE ON accounting_statement
    FOR EACH ROW WHEN (accounting_is_frozen(OLD.revision_id))
    EXECUTE FUNCTION accounting_refuse_frozen();
CREATE TRIGGER frozen_truncate BEFORE TRUNCATE ON accounting_statement
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_refuse_frozen();

-- Only its reopening may be added to a closed revision.
CREATE FUNCTION accounting_keep_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb := to_jsonb(OLD);
    after jsonb := to_jsonb(NEW);
    reopening text[] := ARRAY['reopened_at', 'reopened_by_id', 'reopen_confirmed_by_id',
                              'reopen_reason'];
BEGIN
    IF before - reopening IS DISTINCT FROM after - reopening OR OLD.reopened_at IS NOT NULL
    THEN
        RAISE EXCEPTION 'UPDATE of % is refused: closed periods do not change', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER frozen_update BEFORE UPDATE ON accounting_periodrevision
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
    EXECUTE FUNCTION accounting_keep_revision();
CREATE TRIGGER frozen BEFORE DELETE ON accounting_periodrevision
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
    EXECUTE FUNCTION accounting_refuse_frozen();
CREATE TRIGGER frozen_truncate BEFORE TRUNCATE ON accounting_periodrevision
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_refuse_frozen();
"""
THAW = """
DROP FUNCTION accounting_keep_revision() CASCADE;
DROP FUNCTION accounting_refuse_added() CASCADE;
DROP FUNCTION accounting_refuse_frozen() CASCADE;
DROP FUNCTION accounting_is_frozen(bigint) CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0007_periods")]

    operations = [
        migrations.RunSQL(FREEZE, THAW),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in HISTORIES
        ),
    ]
