"""Price lists, and prices of two kinds; the history of lists joins the audit chain."""

import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
import django.db.models.functions.comparison
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0011_export_jobs'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='PriceList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('rate', 'Rate'), ('cost', 'Cost')], max_length=4)),
                ('name', models.CharField(max_length=100)),
                ('currency', models.CharField(max_length=3)),
                ('source', models.CharField(blank=True, max_length=500)),
            ],
            options={
                'ordering': ['kind', 'name'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_pricelistevent" ("currency", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "source") VALUES (NEW."currency", NEW."id", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."source"); RETURN NULL;', hash='786a1bcd6b22c883dbf12cdebeceeb9a7b34461c', operation='INSERT', pgid='pgtrigger_insert_insert_3a420', table='accounting_pricelist', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_pricelistevent" ("currency", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "source") VALUES (NEW."currency", NEW."id", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."source"); RETURN NULL;', hash='0e95c879ee3ef3621f9e6502eaf29272e5efbe27', operation='UPDATE', pgid='pgtrigger_update_update_6b99f', table='accounting_pricelist', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_pricelistevent" ("currency", "id", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "source") VALUES (OLD."currency", OLD."id", OLD."kind", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."source"); RETURN NULL;', hash='14b79a3490abdc63b9ee039b7d6f9127359d1629', operation='DELETE', pgid='pgtrigger_delete_delete_5a9ae', table='accounting_pricelist', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='PriceListEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('kind', models.CharField(choices=[('rate', 'Rate'), ('cost', 'Cost')], max_length=4)),
                ('name', models.CharField(max_length=100)),
                ('currency', models.CharField(max_length=3)),
                ('source', models.CharField(blank=True, max_length=500)),
            ],
            options={
                'abstract': False,
            },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='unitprice',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='unitprice',
            name='update_update',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='unitprice',
            name='delete_delete',
        ),
        migrations.RemoveConstraint(
            model_name='unitprice',
            name='price_no_overlap',
        ),
        migrations.AddField(
            model_name='unitprice',
            name='kind',
            field=models.CharField(choices=[('rate', 'Rate'), ('cost', 'Cost')], default='rate', max_length=4),
        ),
        migrations.AddField(
            model_name='unitpriceevent',
            name='kind',
            field=models.CharField(choices=[('rate', 'Rate'), ('cost', 'Cost')], default='rate', max_length=4),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."cost_per_gpu_hour", NEW."currency", NEW."id", NEW."kind", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."price_list_id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;', hash='2eda9bb2a5be633b59b8b6ebb0ed6a1cd7d3bd30', operation='INSERT', pgid='pgtrigger_insert_insert_a666c', table='accounting_unitprice', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."cost_per_gpu_hour", NEW."currency", NEW."id", NEW."kind", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."price_list_id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;', hash='9edbc4a7c23a3d469ecfe7b683038be63d17197d', operation='UPDATE', pgid='pgtrigger_update_update_b7982', table='accounting_unitprice', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (OLD."cluster_id", OLD."cost_per_gpu_hour", OLD."currency", OLD."id", OLD."kind", OLD."lifecycle", OLD."model", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."price_list_id", OLD."profile", OLD."rate_per_gpu_hour", OLD."source_note", OLD."tier", OLD."valid_from", OLD."valid_to"); RETURN NULL;', hash='28c7b7477a7531aebad0c37aef9ac1f8e4944163', operation='DELETE', pgid='pgtrigger_delete_delete_c0706', table='accounting_unitprice', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='pricelist',
            constraint=models.UniqueConstraint(fields=('kind', 'name'), name='price_list_name_unique'),
        ),
        migrations.AddField(
            model_name='unitprice',
            name='price_list',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='accounting.pricelist'),
        ),
        migrations.AddField(
            model_name='unitpriceevent',
            name='price_list',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.pricelist'),
        ),
        migrations.AddConstraint(
            model_name='unitprice',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'cost'), _negated=True), models.Q(('profile', ''), ('tier', '')), _connector='OR'), name='price_cost_of_whole_gpus'),
        ),
        migrations.AddConstraint(
            model_name='unitprice',
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(expressions=[('kind', '='), ('model', '='), ('profile', '='), ('lifecycle', '='), ('tier', '='), (django.db.models.functions.comparison.Coalesce('cluster_id', 0), '='), (models.Func('valid_from', 'valid_to', function='TSTZRANGE', output_field=django.contrib.postgres.fields.ranges.DateTimeRangeField()), '&&')], name='price_no_overlap'),
        ),
        migrations.AddField(
            model_name='pricelistevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='pricelistevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.pricelist'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pricelistevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='b883e5900180f36d3921cb8419840d5d45b47dfc', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_86283', table='accounting_pricelistevent', when='BEFORE')),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_pricelistevent')",
            "DROP TRIGGER chain ON accounting_pricelistevent",
        ),
    ]
