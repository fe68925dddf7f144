"""Runs of what-ifs, with the history of their requests in the chain."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0024_corrected_lines'),
        ('pghistory', '0007_auto_20250421_0444'),
        ('scheduler_view', '0006_queues'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='WhatIfRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request', models.JSONField()),
                ('requested_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('canceled', 'Canceled')], default='queued', max_length=8)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('seen_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('step', models.CharField(blank=True, max_length=200)),
                ('events_done', models.PositiveIntegerField(default=0)),
                ('events_known', models.PositiveIntegerField(default=0)),
                ('result', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='what_ifs', to='accounting.cluster')),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_whatifrunevent" ("cluster_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "request", "requested_at", "requested_by_id") VALUES (NEW."cluster_id", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."request", NEW."requested_at", NEW."requested_by_id"); RETURN NULL;', hash='952dbed6fbb3c6b6db203d9a7bd8957f584229a3', operation='INSERT', pgid='pgtrigger_insert_insert_6211f', table='scheduler_view_whatifrun', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."cluster_id" IS DISTINCT FROM (NEW."cluster_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."request" IS DISTINCT FROM (NEW."request") OR OLD."requested_at" IS DISTINCT FROM (NEW."requested_at") OR OLD."requested_by_id" IS DISTINCT FROM (NEW."requested_by_id"))', func='INSERT INTO "scheduler_view_whatifrunevent" ("cluster_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "request", "requested_at", "requested_by_id") VALUES (NEW."cluster_id", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."request", NEW."requested_at", NEW."requested_by_id"); RETURN NULL;', hash='3d9d3a0453bbfbd1d01e89d7f922954f608e22bd', operation='UPDATE', pgid='pgtrigger_update_update_7d0a2', table='scheduler_view_whatifrun', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_whatifrunevent" ("cluster_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "request", "requested_at", "requested_by_id") VALUES (OLD."cluster_id", OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."request", OLD."requested_at", OLD."requested_by_id"); RETURN NULL;', hash='1f83ae3606b9cf8af55039ac24f19f0b41af33b2', operation='DELETE', pgid='pgtrigger_delete_delete_a0295', table='scheduler_view_whatifrun', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='WhatIfRunEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('request', models.JSONField()),
                ('requested_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.whatifrun')),
                ('requested_by', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='4ecdca6b51458f4845c111c744eac9a5ca5f4e01', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_cdd3c', table='scheduler_view_whatifrunevent', when='BEFORE'))],
            },
        ),
        migrations.AddIndex(
            model_name='whatifrun',
            index=models.Index(fields=['state', 'seen_at'], name='what_if_state'),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('scheduler_view_whatifrunevent')",
            "DROP TRIGGER chain ON scheduler_view_whatifrunevent",
        ),
    ]
