"""History that nobody can change: a chain of hashes, closed periods, imported bills.

The chain seals the history of every tracked table, that of user accounts as well. What a close
has frozen cannot be changed by SQL (money.md M28): lines are inserted while their revision is not
closed, in the transaction that closes it. After that every statement that would change them is
refused, also for the owner of the tables; the hash of the close finds what was changed with
triggers off. A bill does not change after its import (money.md M41): only whether it is final, what
replaced it, and what its lines were matched to.
"""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations

TRACKED = (
    "account",
    "addedresource",
    "apitoken",
    "bill",
    "billing",
    "billingperiod",
    "binding",
    "budget",
    "budgetversion",
    "closeoverride",
    "closerequest",
    "cluster",
    "contest",
    "conteststep",
    "conversionrate",
    "entry",
    "exportjob",
    "labelspelling",
    "membership",
    "periodrevision",
    "person",
    "pricelist",
    "reopenrequest",
    "sharepolicy",
    "signinrecord",
    "source",
    "team",
    "unitprice",
)

# The triggers are deferred: they run when the transaction commits, so that the lock of the
# chain's end is held for milliseconds, links stand in the order of commits, and the context
# (actor, reason, request id) is complete. Each statement of a volatile function sees what
# was committed before the lock was given.
CHAIN = """
CREATE FUNCTION accounting_seal(source text, event jsonb) RETURNS void
LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
    before bytea;
    body jsonb;
    context jsonb;
BEGIN
    PERFORM pg_advisory_xact_lock(7110, 0);
    SELECT metadata INTO context FROM pghistory_context
    WHERE id = (event ->> 'pgh_context_id')::uuid;
    SELECT hash INTO before FROM accounting_auditlink ORDER BY id DESC LIMIT 1;
    body := jsonb_build_object(
        'source', source, 'event', event -> 'pgh_id', 'object', event -> 'pgh_obj_id',
        'label', event -> 'pgh_label', 'at', event -> 'pgh_created_at',
        'context', coalesce(context, '{}'),
        'row', event - ARRAY['pgh_id', 'pgh_obj_id', 'pgh_label', 'pgh_created_at',
                             'pgh_context_id']);
    INSERT INTO accounting_auditlink (at, source, event_id, object_id, body, hash)
    VALUES ((event ->> 'pgh_created_at')::timestamptz, source,
            (event ->> 'pgh_id')::bigint, (event ->> 'pgh_obj_id')::bigint, body,
            sha256(coalesce(before, '') || convert_to(body::text, 'UTF8')));
END $$;

CREATE FUNCTION accounting_chain() RETURNS trigger
LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
BEGIN
    PERFORM accounting_seal(TG_TABLE_NAME::text, to_jsonb(NEW));
    RETURN NULL;
END $$;

CREATE FUNCTION accounting_chain_table(source regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'CREATE CONSTRAINT TRIGGER chain AFTER INSERT ON %s DEFERRABLE '
        'INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION accounting_chain()', source);
    EXECUTE format(
        'SELECT accounting_seal(%L, to_jsonb(e)) FROM %s e ORDER BY pgh_id',
        source::text, source);
END $$;
"""
UNCHAIN = """
DROP FUNCTION accounting_chain_table(regclass);
DROP FUNCTION accounting_chain() CASCADE;
DROP FUNCTION accounting_seal(text, jsonb);
"""

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

KEEP = """
CREATE FUNCTION accounting_keep_bill() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    free text[] := string_to_array(TG_ARGV[0], ',');
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF to_jsonb(OLD) - free IS NOT DISTINCT FROM to_jsonb(NEW) - free THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% of % is refused: an imported bill does not change', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'Import another file for the same account and billing period.';
END $$;

CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON accounting_bill
    FOR EACH ROW EXECUTE FUNCTION accounting_keep_bill('is_final,replaced_at');
CREATE TRIGGER kept_truncate BEFORE TRUNCATE ON accounting_bill
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_keep_bill('');
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON accounting_billline
    FOR EACH ROW EXECUTE FUNCTION accounting_keep_bill('word,node_id,cluster_id');
CREATE TRIGGER kept_truncate BEFORE TRUNCATE ON accounting_billline
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_keep_bill('');
"""
RELEASE = "DROP FUNCTION accounting_keep_bill() CASCADE"


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0002_partitioned_tables'),
    ]

    operations = [
        # of a proxy model: no table is created with them
        pgtrigger.migrations.AddTrigger(
            model_name='account',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_accountevent" ("email", "first_name", "id", "is_active", "is_staff", "is_superuser", "last_name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."id", NEW."is_active", NEW."is_staff", NEW."is_superuser", NEW."last_name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."username"); RETURN NULL;', hash='617a29a4ca0ec903dc3e8ab9635cdbc1a67b4928', operation='INSERT', pgid='pgtrigger_insert_insert_9c6c4', table='auth_user', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='account',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."email" IS DISTINCT FROM (NEW."email") OR OLD."first_name" IS DISTINCT FROM (NEW."first_name") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_active" IS DISTINCT FROM (NEW."is_active") OR OLD."is_staff" IS DISTINCT FROM (NEW."is_staff") OR OLD."is_superuser" IS DISTINCT FROM (NEW."is_superuser") OR OLD."last_name" IS DISTINCT FROM (NEW."last_name") OR OLD."username" IS DISTINCT FROM (NEW."username"))', func='INSERT INTO "accounting_accountevent" ("email", "first_name", "id", "is_active", "is_staff", "is_superuser", "last_name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."id", NEW."is_active", NEW."is_staff", NEW."is_superuser", NEW."last_name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."username"); RETURN NULL;', hash='cdf74e59ad8ebdcb1b1c187e12bc06e1dc8c569c', operation='UPDATE', pgid='pgtrigger_update_update_b8e29', table='auth_user', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='account',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_accountevent" ("email", "first_name", "id", "is_active", "is_staff", "is_superuser", "last_name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (OLD."email", OLD."first_name", OLD."id", OLD."is_active", OLD."is_staff", OLD."is_superuser", OLD."last_name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."username"); RETURN NULL;', hash='94defb3d8761cadfe47c94aa48db24feb11b7752', operation='DELETE', pgid='pgtrigger_delete_delete_4330e', table='auth_user', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='account',
            trigger=pgtrigger.compiler.Trigger(name='password', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."password" IS DISTINCT FROM (NEW."password"))', func='INSERT INTO "accounting_accountevent" ("email", "first_name", "id", "is_active", "is_staff", "is_superuser", "last_name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "username") VALUES (NEW."email", NEW."first_name", NEW."id", NEW."is_active", NEW."is_staff", NEW."is_superuser", NEW."last_name", _pgh_attach_context(), NOW(), \'password\', NEW."id", NEW."username"); RETURN NULL;', hash='7cc277e54416a251531004e7cd3b253987429ece', operation='UPDATE', pgid='pgtrigger_password_159ec', table='auth_user', when='AFTER')),
        ),
        migrations.RunSQL(CHAIN, UNCHAIN),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in TRACKED
        ),
        migrations.RunSQL(FREEZE, THAW),
        migrations.RunSQL(KEEP, RELEASE),
    ]
