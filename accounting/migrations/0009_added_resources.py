import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0008_shapes'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='AddedResourceEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('resource', models.CharField(max_length=317)),
                ('share_numerator', models.PositiveIntegerField()),
                ('share_denominator', models.PositiveIntegerField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='AddedResource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.CharField(max_length=317, unique=True)),
                ('share_numerator', models.PositiveIntegerField()),
                ('share_denominator', models.PositiveIntegerField()),
            ],
            options={
                'ordering': ['resource'],
                'constraints': [models.CheckConstraint(condition=models.Q(('share_numerator__gt', 0), ('share_numerator__lte', models.F('share_denominator'))), name='added_resource_share_of_one')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='addedresource',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_addedresourceevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "resource", "share_denominator", "share_numerator") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."resource", NEW."share_denominator", NEW."share_numerator"); RETURN NULL;', hash='b403699100d5e055ee07c26c199031e193ccdc34', operation='INSERT', pgid='pgtrigger_insert_insert_42505', table='accounting_addedresource', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='addedresource',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_addedresourceevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "resource", "share_denominator", "share_numerator") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."resource", NEW."share_denominator", NEW."share_numerator"); RETURN NULL;', hash='9423e0768e450c5d6332a564a0add232c9569ca3', operation='UPDATE', pgid='pgtrigger_update_update_33121', table='accounting_addedresource', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='addedresource',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_addedresourceevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "resource", "share_denominator", "share_numerator") VALUES (OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."resource", OLD."share_denominator", OLD."share_numerator"); RETURN NULL;', hash='cd9f71c18ff18978472e11513d617015c9af0d73', operation='DELETE', pgid='pgtrigger_delete_delete_2d0dd', table='accounting_addedresource', when='AFTER')),
        ),
        migrations.AddField(
            model_name='addedresourceevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='addedresourceevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.addedresource'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='addedresourceevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='8405aa80f06d0543f1ab652690d1830f5b6209f9', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_22f07', table='accounting_addedresourceevent', when='BEFORE')),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('accounting_addedresourceevent')",
            "DROP TRIGGER chain ON accounting_addedresourceevent",
        ),
    ]
