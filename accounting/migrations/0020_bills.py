"""Bills of providers with their lines, and which machine of a provider each node was.

A bill does not change after its import (money.md M41): only whether it is final, what replaced it,
and what its lines were matched to.
"""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

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
DROP = "DROP FUNCTION accounting_keep_bill() CASCADE"


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0019_organization_of_a_close'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Bill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('account', models.CharField(max_length=253)),
                ('provider', models.CharField(blank=True, max_length=253)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('month', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('file_name', models.CharField(max_length=253)),
                ('sha256', models.CharField(max_length=64)),
                ('rows', models.JSONField(default=dict)),
                ('is_final', models.BooleanField(default=False)),
                ('replaced_at', models.DateTimeField(blank=True, null=True)),
                ('imported_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-starts_at', 'account', '-revision'],
            },
        ),
        migrations.CreateModel(
            name='BillEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('account', models.CharField(max_length=253)),
                ('provider', models.CharField(blank=True, max_length=253)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('month', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('file_name', models.CharField(max_length=253)),
                ('sha256', models.CharField(max_length=64)),
                ('rows', models.JSONField(default=dict)),
                ('is_final', models.BooleanField(default=False)),
                ('replaced_at', models.DateTimeField(blank=True, null=True)),
                ('imported_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='BillLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('billing_on', models.DateField()),
                ('sub_account', models.CharField(max_length=253)),
                ('resource', models.CharField(max_length=2048)),
                ('resource_name', models.CharField(max_length=2048)),
                ('service', models.CharField(max_length=253)),
                ('rows', models.PositiveIntegerField()),
                ('cost', models.DecimalField(decimal_places=16, max_digits=38)),
                ('word', models.CharField(max_length=12)),
            ],
        ),
        migrations.CreateModel(
            name='NodeProvider',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider_id', models.CharField(max_length=500)),
                ('first_ms', models.BigIntegerField()),
                ('last_ms', models.BigIntegerField()),
            ],
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='cluster',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='cluster',
            name='update_update',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='cluster',
            name='delete_delete',
        ),
        migrations.AddField(
            model_name='cluster',
            name='billing_account',
            field=models.CharField(blank=True, max_length=253),
        ),
        migrations.AddField(
            model_name='clusterevent',
            name='billing_account',
            field=models.CharField(blank=True, max_length=253),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cluster',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_clusterevent" ("billing_account", "id", "is_confirmed", "is_demo", "kube_state_jobs", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "shard_count") VALUES (NEW."billing_account", NEW."id", NEW."is_confirmed", NEW."is_demo", NEW."kube_state_jobs", NEW."kubernetes", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."retired_at", NEW."shard_count"); RETURN NULL;', hash='851c69978fc87e47efd2720a6d943c35ba3d75c6', operation='INSERT', pgid='pgtrigger_insert_insert_d635c', table='accounting_cluster', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cluster',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."billing_account" IS DISTINCT FROM (NEW."billing_account") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_confirmed" IS DISTINCT FROM (NEW."is_confirmed") OR OLD."is_demo" IS DISTINCT FROM (NEW."is_demo") OR OLD."kube_state_jobs" IS DISTINCT FROM (NEW."kube_state_jobs") OR OLD."kubernetes" IS DISTINCT FROM (NEW."kubernetes") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."retired_at" IS DISTINCT FROM (NEW."retired_at") OR OLD."shard_count" IS DISTINCT FROM (NEW."shard_count"))', func='INSERT INTO "accounting_clusterevent" ("billing_account", "id", "is_confirmed", "is_demo", "kube_state_jobs", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "shard_count") VALUES (NEW."billing_account", NEW."id", NEW."is_confirmed", NEW."is_demo", NEW."kube_state_jobs", NEW."kubernetes", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."retired_at", NEW."shard_count"); RETURN NULL;', hash='f685c93281f1e0ad8ce02e3eac7175db29204e3d', operation='UPDATE', pgid='pgtrigger_update_update_c2974', table='accounting_cluster', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cluster',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_clusterevent" ("billing_account", "id", "is_confirmed", "is_demo", "kube_state_jobs", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "shard_count") VALUES (OLD."billing_account", OLD."id", OLD."is_confirmed", OLD."is_demo", OLD."kube_state_jobs", OLD."kubernetes", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."retired_at", OLD."shard_count"); RETURN NULL;', hash='21056604f0b631804d1ec1a2a77230c321edceb2', operation='DELETE', pgid='pgtrigger_delete_delete_3e055', table='accounting_cluster', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='cluster',
            constraint=models.UniqueConstraint(condition=models.Q(('billing_account', ''), _negated=True), fields=('billing_account',), name='cluster_billing_account'),
        ),
        migrations.AddField(
            model_name='bill',
            name='imported_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='billevent',
            name='imported_by',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='billevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='billevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.bill'),
        ),
        migrations.AddField(
            model_name='billline',
            name='bill',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='accounting.bill'),
        ),
        migrations.AddField(
            model_name='billline',
            name='cluster',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounting.cluster'),
        ),
        migrations.AddField(
            model_name='billline',
            name='node',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounting.node'),
        ),
        migrations.AddField(
            model_name='nodeprovider',
            name='node',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='providers', to='accounting.node'),
        ),
        migrations.AddConstraint(
            model_name='bill',
            constraint=models.UniqueConstraint(fields=('account', 'starts_at', 'ends_at', 'revision'), name='bill_revision_unique'),
        ),
        migrations.AddConstraint(
            model_name='bill',
            constraint=models.UniqueConstraint(condition=models.Q(('replaced_at', None)), fields=('account', 'starts_at', 'ends_at'), name='bill_in_effect_once'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bill',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_billevent" ("account", "currency", "ends_at", "file_name", "id", "imported_at", "imported_by_id", "is_final", "month", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "provider", "replaced_at", "revision", "rows", "sha256", "starts_at") VALUES (NEW."account", NEW."currency", NEW."ends_at", NEW."file_name", NEW."id", NEW."imported_at", NEW."imported_by_id", NEW."is_final", NEW."month", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."provider", NEW."replaced_at", NEW."revision", NEW."rows", NEW."sha256", NEW."starts_at"); RETURN NULL;', hash='4e78e642d6abe84c0d60c7168de7eb094f1adf5f', operation='INSERT', pgid='pgtrigger_insert_insert_0831c', table='accounting_bill', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bill',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_billevent" ("account", "currency", "ends_at", "file_name", "id", "imported_at", "imported_by_id", "is_final", "month", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "provider", "replaced_at", "revision", "rows", "sha256", "starts_at") VALUES (NEW."account", NEW."currency", NEW."ends_at", NEW."file_name", NEW."id", NEW."imported_at", NEW."imported_by_id", NEW."is_final", NEW."month", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."provider", NEW."replaced_at", NEW."revision", NEW."rows", NEW."sha256", NEW."starts_at"); RETURN NULL;', hash='a6ed5083591beca9b3274300c1c63ce40f0aaabd', operation='UPDATE', pgid='pgtrigger_update_update_63b80', table='accounting_bill', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bill',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_billevent" ("account", "currency", "ends_at", "file_name", "id", "imported_at", "imported_by_id", "is_final", "month", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "provider", "replaced_at", "revision", "rows", "sha256", "starts_at") VALUES (OLD."account", OLD."currency", OLD."ends_at", OLD."file_name", OLD."id", OLD."imported_at", OLD."imported_by_id", OLD."is_final", OLD."month", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."provider", OLD."replaced_at", OLD."revision", OLD."rows", OLD."sha256", OLD."starts_at"); RETURN NULL;', hash='dc43e181e22a59e72742ebb4c7a9d174c869c936', operation='DELETE', pgid='pgtrigger_delete_delete_4a397', table='accounting_bill', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='billevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='34d83667d5b13ae0623eb212c51c185c9287d252', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_39d6e', table='accounting_billevent', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='billline',
            index=models.Index(fields=['bill', 'word'], name='bill_line_word'),
        ),
        migrations.AddConstraint(
            model_name='nodeprovider',
            constraint=models.UniqueConstraint(fields=('node', 'provider_id'), name='node_provider_unique'),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_billevent')",
            "DROP TRIGGER chain ON accounting_billevent",
        ),
        migrations.RunSQL(KEEP, DROP),
    ]
