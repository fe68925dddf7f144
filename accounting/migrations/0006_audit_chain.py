"""History is append-only, knows removals, and is sealed by a chain of hashes."""


import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

TABLES = (
    "billing",
    "binding",
    "cluster",
    "labelspelling",
    "membership",
    "person",
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


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0005_intensity'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('source', models.CharField(max_length=63)),
                ('event_id', models.BigIntegerField()),
                ('object_id', models.BigIntegerField(null=True)),
                ('body', models.JSONField()),
                ('hash', models.BinaryField()),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='billing',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_billingevent" ("currency", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "timezone", "valid_from") VALUES (OLD."currency", OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."timezone", OLD."valid_from"); RETURN NULL;', hash='68ebbb666edb81a6a13cf6d186de571da1f783b9', operation='DELETE', pgid='pgtrigger_delete_delete_f5b63', table='accounting_billing', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='billingevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='1fd3cc0a59823d192b49c04121e3a9a9dfc47ffb', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_659d4', table='accounting_billingevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='binding',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_bindingevent" ("glob", "id", "kind", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "team_id", "valid_from", "valid_to") VALUES (OLD."glob", OLD."id", OLD."kind", OLD."label", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."position", OLD."team_id", OLD."valid_from", OLD."valid_to"); RETURN NULL;', hash='f2972215ea74c4bf8fe598bc464161a1e750bc28', operation='DELETE', pgid='pgtrigger_delete_delete_8fe0d', table='accounting_binding', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bindingevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='2afcb29ec6e5185c970bfc290e06d0747dcd7cff', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_f8d1e', table='accounting_bindingevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cluster',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_clusterevent" ("id", "is_demo", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "shard_count") VALUES (OLD."id", OLD."is_demo", OLD."kubernetes", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."shard_count"); RETURN NULL;', hash='2658fb10c2274faeb3e5a75059b3964ffb5bdbd1', operation='DELETE', pgid='pgtrigger_delete_delete_3e055', table='accounting_cluster', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='clusterevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='26c33c4ca452e772d288dcf03d1f07fd5adf6bef', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_955eb', table='accounting_clusterevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='labelspelling',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_labelspellingevent" ("id", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "purpose") VALUES (OLD."id", OLD."label", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."position", OLD."purpose"); RETURN NULL;', hash='8832bc677e440cc5f6a3903c64d75c930fde0ff0', operation='DELETE', pgid='pgtrigger_delete_delete_daf42', table='accounting_labelspelling', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='labelspellingevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='d33359620e3caae41afd3bd41ecb43fcdab7db54', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_24a7b', table='accounting_labelspellingevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='membership',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_membershipevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "team_id", "user_id") VALUES (OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."role", OLD."team_id", OLD."user_id"); RETURN NULL;', hash='330f7029afc5c4a9f1e0df95b8be1f428b21dc41', operation='DELETE', pgid='pgtrigger_delete_delete_b451c', table='accounting_membership', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='membershipevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7ba149e5c09d51871604aababd3efe9d0b8573e9', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_4f133', table='accounting_membershipevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='person',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_personevent" ("density", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "theme", "timezone", "user_id") VALUES (OLD."density", OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."role", OLD."theme", OLD."timezone", OLD."user_id"); RETURN NULL;', hash='c968fbc42769f05d853fe92ea9c1693cf4cc3d0e', operation='DELETE', pgid='pgtrigger_delete_delete_725ff', table='accounting_person', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='personevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='e7119eba1c86567d0ef8790955a96562226b49a6', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_8aa8b', table='accounting_personevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='source',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_sourceevent" ("cluster_id", "id", "interval_s", "is_active", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "scales", "settings") VALUES (OLD."cluster_id", OLD."id", OLD."interval_s", OLD."is_active", OLD."kind", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."scales", OLD."settings"); RETURN NULL;', hash='4a1ba762636c54e9862b0ea9cc108bc5db6a734c', operation='DELETE', pgid='pgtrigger_delete_delete_946f4', table='accounting_source', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='sourceevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='99f15a53db74cdbf3ca154dc99117edd39cceec9', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_eb633', table='accounting_sourceevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='team',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_teamevent" ("colour_slot", "cost_centre", "department", "id", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "slug") VALUES (OLD."colour_slot", OLD."cost_centre", OLD."department", OLD."id", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."slug"); RETURN NULL;', hash='2cec2a4dea77218cb969c3e00281968c9e8b38af', operation='DELETE', pgid='pgtrigger_delete_delete_ca0a7', table='accounting_team', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='teamevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='d475b4ad667b3ff25019ed590d956fe89fc9f0ee', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_1cc75', table='accounting_teamevent', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (OLD."cluster_id", OLD."cost_per_gpu_hour", OLD."currency", OLD."id", OLD."lifecycle", OLD."model", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."profile", OLD."rate_per_gpu_hour", OLD."source_note", OLD."tier", OLD."valid_from", OLD."valid_to"); RETURN NULL;', hash='046cdf0ab2b7f0dd11d8049847bb1472d12a8ed3', operation='DELETE', pgid='pgtrigger_delete_delete_c0706', table='accounting_unitprice', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitpriceevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='fd171f9439f6897788bedf42f78653b276f4016e', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_7de4f', table='accounting_unitpriceevent', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='auditlink',
            index=models.Index(fields=['source', 'object_id', 'id'], name='audit_by_object'),
        ),
        migrations.AddIndex(
            model_name='auditlink',
            index=models.Index(fields=['at'], name='audit_by_time'),
        ),
        migrations.AddConstraint(
            model_name='auditlink',
            constraint=models.UniqueConstraint(fields=('source', 'event_id'), name='audit_unique'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='auditlink',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='cbb272e438afe258a535667b953e6da6c1f57ce3', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_40bc5', table='accounting_auditlink', when='BEFORE')),
        ),
        migrations.RunSQL(CHAIN, UNCHAIN),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in TABLES
        ),
    ]
