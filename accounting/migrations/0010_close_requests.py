"""Requests of two people about closes (money.md M27, M30)."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0009_conversions'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='periodrevision',
            name='inputs',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.CreateModel(
            name='CloseOverride',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('reason', models.CharField(max_length=200)),
                ('requested_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('code', models.CharField(max_length=20)),
                ('seen', models.JSONField()),
                ('confirmed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_closeoverrideevent" ("code", "confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision", "seen") VALUES (NEW."code", NEW."confirmed_at", NEW."confirmed_by_id", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."seen"); RETURN NULL;', hash='7994deeb50ba488a9ae67aee262eab3570adf55d', operation='INSERT', pgid='pgtrigger_insert_insert_a25b0', table='accounting_closeoverride', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_closeoverrideevent" ("code", "confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision", "seen") VALUES (NEW."code", NEW."confirmed_at", NEW."confirmed_by_id", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."reason", NEW."requested_at", NEW."requested_by_id", NEW."revision", NEW."seen"); RETURN NULL;', hash='524e2c949028671336465739449ba7a3d183e279', operation='UPDATE', pgid='pgtrigger_update_update_0b57e', table='accounting_closeoverride', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_closeoverrideevent" ("code", "confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision", "seen") VALUES (OLD."code", OLD."confirmed_at", OLD."confirmed_by_id", OLD."id", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."reason", OLD."requested_at", OLD."requested_by_id", OLD."revision", OLD."seen"); RETURN NULL;', hash='6210205b6e4c655f2c350ec3490b7007c791a62e', operation='DELETE', pgid='pgtrigger_delete_delete_7df0f', table='accounting_closeoverride', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='CloseOverrideEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('reason', models.CharField(max_length=200)),
                ('requested_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('code', models.CharField(max_length=20)),
                ('seen', models.JSONField()),
                ('confirmed_by', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.closeoverride')),
                ('requested_by', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='80d9a98924a291adcb2be18f32edfefdba41cba2', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_c614c', table='accounting_closeoverrideevent', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='ReopenRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('reason', models.CharField(max_length=200)),
                ('requested_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('confirmed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_reopenrequestevent" ("confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision") VALUES (NEW."confirmed_at", NEW."confirmed_by_id", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."requested_at", NEW."requested_by_id", NEW."revision"); RETURN NULL;', hash='3a49ab47d43aeb616d723cec50fbac436475c719', operation='INSERT', pgid='pgtrigger_insert_insert_9e76f', table='accounting_reopenrequest', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_reopenrequestevent" ("confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision") VALUES (NEW."confirmed_at", NEW."confirmed_by_id", NEW."id", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."reason", NEW."requested_at", NEW."requested_by_id", NEW."revision"); RETURN NULL;', hash='fc722c376267061c8f0784584750385158d037f2', operation='UPDATE', pgid='pgtrigger_update_update_6820f', table='accounting_reopenrequest', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_reopenrequestevent" ("confirmed_at", "confirmed_by_id", "id", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "requested_at", "requested_by_id", "revision") VALUES (OLD."confirmed_at", OLD."confirmed_by_id", OLD."id", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."reason", OLD."requested_at", OLD."requested_by_id", OLD."revision"); RETURN NULL;', hash='9a515b7bba3a20c404a9bcdddc30187800de4add', operation='DELETE', pgid='pgtrigger_delete_delete_d3332', table='accounting_reopenrequest', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='ReopenRequestEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('reason', models.CharField(max_length=200)),
                ('requested_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('confirmed_by', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.reopenrequest')),
                ('requested_by', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='3854a1ef00a921765b5862ec06fb93b3a45ac114', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_9b4f8', table='accounting_reopenrequestevent', when='BEFORE'))],
            },
        ),
        migrations.AddConstraint(
            model_name='closeoverride',
            constraint=models.CheckConstraint(condition=models.Q(('confirmed_by', None), models.Q(('confirmed_by', models.F('requested_by')), _negated=True), _connector='OR'), name='closeoverride_two_people'),
        ),
        migrations.AddConstraint(
            model_name='reopenrequest',
            constraint=models.CheckConstraint(condition=models.Q(('confirmed_by', None), models.Q(('confirmed_by', models.F('requested_by')), _negated=True), _connector='OR'), name='reopenrequest_two_people'),
        ),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in ("closeoverride", "reopenrequest")
        ),
    ]
