"""Desired fields of queues, with their history in the chain."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0024_corrected_lines'),
        ('pghistory', '0007_auto_20250421_0444'),
        ('scheduler_view', '0008_waste_memory'),
    ]

    operations = [
        migrations.CreateModel(
            name='QueueTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('field', models.CharField(max_length=600)),
                ('value', models.TextField(null=True)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='queue_targets', to='accounting.cluster')),
            ],
            options={
                'ordering': ['cluster', 'kind', 'name', 'field'],
            },
        ),
        migrations.CreateModel(
            name='QueueTargetEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('kind', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('field', models.CharField(max_length=600)),
                ('value', models.TextField(null=True)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.queuetarget')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddConstraint(
            model_name='queuetarget',
            constraint=models.UniqueConstraint(fields=('cluster', 'kind', 'name', 'field'), name='queue_target_unique'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='queuetarget',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_queuetargetevent" ("cluster_id", "field", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "value", "version") VALUES (NEW."cluster_id", NEW."field", NEW."id", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."value", NEW."version"); RETURN NULL;', hash='38c8e296bdef69a3da976a1c4d23d7aba0439827', operation='INSERT', pgid='pgtrigger_insert_insert_40d5e', table='scheduler_view_queuetarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='queuetarget',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_queuetargetevent" ("cluster_id", "field", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "value", "version") VALUES (NEW."cluster_id", NEW."field", NEW."id", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."value", NEW."version"); RETURN NULL;', hash='0ed471418741a74ab7375d1bbacf1fe7e1d02e80', operation='UPDATE', pgid='pgtrigger_update_update_0d62f', table='scheduler_view_queuetarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='queuetarget',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_queuetargetevent" ("cluster_id", "field", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "value", "version") VALUES (OLD."cluster_id", OLD."field", OLD."id", OLD."kind", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."value", OLD."version"); RETURN NULL;', hash='fac6eacc4fc47ff11387f2dfbb0caee3aadcb088', operation='DELETE', pgid='pgtrigger_delete_delete_bee94', table='scheduler_view_queuetarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='queuetargetevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='251ba70d9816b83fc71565394a593585b848763b', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_2b38e', table='scheduler_view_queuetargetevent', when='BEFORE')),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('scheduler_view_queuetargetevent')",
            "DROP TRIGGER chain ON scheduler_view_queuetargetevent",
        ),
    ]
