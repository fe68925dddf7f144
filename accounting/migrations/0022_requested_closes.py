"""Requests to close a month; their history joins the audit chain (money.md M28)."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0021_idempotency_keys'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CloseRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('version', models.CharField(blank=True, max_length=32)),
                ('requested_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('closed', 'Closed'), ('refused', 'Refused'), ('failed', 'Failed'), ('expired', 'Expired')], default='waiting', max_length=8)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
                ('checks', models.JSONField(default=list)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_closerequestevent" ("error", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "requested_at", "requested_by_id", "revision", "state", "version") VALUES (NEW."error", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."state", NEW."version"); RETURN NULL;', hash='f0f7af4318a923ab417ef10504e53001e9520dfd', operation='INSERT', pgid='pgtrigger_insert_insert_39557', table='accounting_closerequest', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."error" IS DISTINCT FROM (NEW."error") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."period" IS DISTINCT FROM (NEW."period") OR OLD."requested_at" IS DISTINCT FROM (NEW."requested_at") OR OLD."requested_by_id" IS DISTINCT FROM (NEW."requested_by_id") OR OLD."revision" IS DISTINCT FROM (NEW."revision") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."version" IS DISTINCT FROM (NEW."version"))', func='INSERT INTO "accounting_closerequestevent" ("error", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "requested_at", "requested_by_id", "revision", "state", "version") VALUES (NEW."error", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."state", NEW."version"); RETURN NULL;', hash='980a18ae743d08c6c4fc86db58339fb070c495a3', operation='UPDATE', pgid='pgtrigger_update_update_492f0', table='accounting_closerequest', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_closerequestevent" ("error", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "requested_at", "requested_by_id", "revision", "state", "version") VALUES (OLD."error", OLD."id", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."requested_at", OLD."requested_by_id", OLD."revision", OLD."state", OLD."version"); RETURN NULL;', hash='62f683a56d7fbc3d8e9a227cab567fb1690e1fc7', operation='DELETE', pgid='pgtrigger_delete_delete_536f5', table='accounting_closerequest', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='CloseRequestEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('version', models.CharField(blank=True, max_length=32)),
                ('requested_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('closed', 'Closed'), ('refused', 'Refused'), ('failed', 'Failed'), ('expired', 'Expired')], default='waiting', max_length=8)),
                ('error', models.TextField(blank=True)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.closerequest')),
                ('requested_by', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='8945b2c60bdc5cc36b15c99e78d3e4851f5a549a', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_4560b', table='accounting_closerequestevent', when='BEFORE'))],
            },
        ),
        migrations.AddConstraint(
            model_name='closerequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('period',), name='close_request_one_waiting'),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_closerequestevent')",
            "DROP TRIGGER chain ON accounting_closerequestevent",
        ),
    ]
