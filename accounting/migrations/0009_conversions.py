"""Conversion rates between currencies; the history joins the audit chain."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0008_frozen_periods'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='ConversionRateEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('from_currency', models.CharField(max_length=3)),
                ('to_currency', models.CharField(max_length=3)),
                ('on', models.DateField()),
                ('rate', models.DecimalField(decimal_places=10, max_digits=20)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ConversionRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_currency', models.CharField(max_length=3)),
                ('to_currency', models.CharField(max_length=3)),
                ('on', models.DateField()),
                ('rate', models.DecimalField(decimal_places=10, max_digits=20)),
            ],
            options={
                'ordering': ['from_currency', 'to_currency', 'on'],
                'constraints': [models.UniqueConstraint(fields=('from_currency', 'to_currency', 'on'), name='conversion_unique'), models.CheckConstraint(condition=models.Q(('rate__gt', 0)), name='conversion_rate_positive'), models.CheckConstraint(condition=models.Q(('from_currency', models.F('to_currency')), _negated=True), name='conversion_of_two_currencies')],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_conversionrateevent" ("from_currency", "id", "on", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate", "to_currency") VALUES (NEW."from_currency", NEW."id", NEW."on", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."rate", NEW."to_currency"); RETURN NULL;', hash='8f60ba8cc2bdbe83ad40a239c73b4e7b96e9cc95', operation='INSERT', pgid='pgtrigger_insert_insert_067e1', table='accounting_conversionrate', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_conversionrateevent" ("from_currency", "id", "on", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate", "to_currency") VALUES (NEW."from_currency", NEW."id", NEW."on", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."rate", NEW."to_currency"); RETURN NULL;', hash='f78fdc03a1240944455eaa8e96ace7ce62661672', operation='UPDATE', pgid='pgtrigger_update_update_494b1', table='accounting_conversionrate', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_conversionrateevent" ("from_currency", "id", "on", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "rate", "to_currency") VALUES (OLD."from_currency", OLD."id", OLD."on", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."rate", OLD."to_currency"); RETURN NULL;', hash='c75c3425b45972b98048fa6811f451f60022a8b0', operation='DELETE', pgid='pgtrigger_delete_delete_5a81c', table='accounting_conversionrate', when='AFTER'))],
            },
        ),
        migrations.AddField(
            model_name='conversionrateevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='conversionrateevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.conversionrate'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversionrateevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='677f1b233ce58422cb31dd81d2c64023870c3c21', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_1a65f', table='accounting_conversionrateevent', when='BEFORE')),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_conversionrateevent')",
            "DROP TRIGGER chain ON accounting_conversionrateevent",
        ),
    ]
