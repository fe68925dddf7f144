"""Files that are written in the background; the history of requests joins the audit chain."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0010_close_requests'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ExportJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(max_length=10)),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField(null=True)),
                ('profile', models.CharField(max_length=16)),
                ('team', models.CharField(blank=True, max_length=63)),
                ('format', models.CharField(max_length=8)),
                ('requested_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('expired', 'Expired')], default='queued', max_length=8)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('seen_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('rows_total', models.PositiveBigIntegerField(default=0)),
                ('bytes_written', models.PositiveBigIntegerField(default=0)),
                ('file_name', models.CharField(blank=True, max_length=200)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('metadata', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_exportjobevent" ("format", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "requested_at", "requested_by_id", "revision", "team", "what") VALUES (NEW."format", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."profile", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."team", NEW."what"); RETURN NULL;', hash='10036f0960512b47df136d083f135d01f5d2a2bd', operation='INSERT', pgid='pgtrigger_insert_insert_b54da', table='accounting_exportjob', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."format" IS DISTINCT FROM (NEW."format") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."period" IS DISTINCT FROM (NEW."period") OR OLD."profile" IS DISTINCT FROM (NEW."profile") OR OLD."requested_at" IS DISTINCT FROM (NEW."requested_at") OR OLD."requested_by_id" IS DISTINCT FROM (NEW."requested_by_id") OR OLD."revision" IS DISTINCT FROM (NEW."revision") OR OLD."team" IS DISTINCT FROM (NEW."team") OR OLD."what" IS DISTINCT FROM (NEW."what"))', func='INSERT INTO "accounting_exportjobevent" ("format", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "requested_at", "requested_by_id", "revision", "team", "what") VALUES (NEW."format", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."profile", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."team", NEW."what"); RETURN NULL;', hash='7ce1ec30cd7715d2d76d19848f7b3ba283a40bf3', operation='UPDATE', pgid='pgtrigger_update_update_6608a', table='accounting_exportjob', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_exportjobevent" ("format", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "requested_at", "requested_by_id", "revision", "team", "what") VALUES (OLD."format", OLD."id", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."profile", OLD."requested_at", OLD."requested_by_id", OLD."revision", OLD."team", OLD."what"); RETURN NULL;', hash='e8beb11d88c9d2b8b21c9f650c7a06d6cdbb48aa', operation='DELETE', pgid='pgtrigger_delete_delete_5af14', table='accounting_exportjob', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='ExportJobEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('what', models.CharField(max_length=10)),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField(null=True)),
                ('profile', models.CharField(max_length=16)),
                ('team', models.CharField(blank=True, max_length=63)),
                ('format', models.CharField(max_length=8)),
                ('requested_at', models.DateTimeField()),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.exportjob')),
                ('requested_by', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='262e60f3fd3beaa10a6a89b096ec4f937f54ae38', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_7cfa1', table='accounting_exportjobevent', when='BEFORE'))],
            },
        ),
        migrations.AddIndex(
            model_name='exportjob',
            index=models.Index(fields=['state', 'seen_at'], name='export_job_state'),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_exportjobevent')",
            "DROP TRIGGER chain ON accounting_exportjobevent",
        ),
    ]
