"""Budgets, their amounts over time and their alerts; the history joins the audit chain."""

import django.db.models.deletion
import pgtrigger.compiler
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0005_rollups_by_gpu'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('department', models.CharField(blank=True, max_length=200)),
                ('unit', models.CharField(choices=[('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year')], default='month', max_length=7)),
                ('measure', models.CharField(choices=[('money', 'Money'), ('gpu-hours', 'GPU-hours')], default='money', max_length=9)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('ended_on', models.DateField(blank=True, null=True)),
                ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='budgets', to='accounting.team')),
            ],
            options={
                'ordering': ['id'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_budgetevent" ("currency", "department", "ended_on", "id", "measure", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "team_id", "unit") VALUES (NEW."currency", NEW."department", NEW."ended_on", NEW."id", NEW."measure", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."team_id", NEW."unit"); RETURN NULL;', hash='f663d9b246364699b029c68f00832f97fbc4340b', operation='INSERT', pgid='pgtrigger_insert_insert_e8b90', table='accounting_budget', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_budgetevent" ("currency", "department", "ended_on", "id", "measure", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "team_id", "unit") VALUES (NEW."currency", NEW."department", NEW."ended_on", NEW."id", NEW."measure", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."team_id", NEW."unit"); RETURN NULL;', hash='af1b6e640ff77f910a784ed17566a59b1787c9c4', operation='UPDATE', pgid='pgtrigger_update_update_67411', table='accounting_budget', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_budgetevent" ("currency", "department", "ended_on", "id", "measure", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "team_id", "unit") VALUES (OLD."currency", OLD."department", OLD."ended_on", OLD."id", OLD."measure", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."team_id", OLD."unit"); RETURN NULL;', hash='67e1b5b7e7bcab16572dd1a85ab3d2ca0ed08e6f', operation='DELETE', pgid='pgtrigger_delete_delete_33615', table='accounting_budget', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='BudgetEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('department', models.CharField(blank=True, max_length=200)),
                ('unit', models.CharField(choices=[('month', 'Month'), ('quarter', 'Quarter'), ('year', 'Year')], default='month', max_length=7)),
                ('measure', models.CharField(choices=[('money', 'Money'), ('gpu-hours', 'GPU-hours')], default='money', max_length=9)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('ended_on', models.DateField(blank=True, null=True)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.budget')),
                ('team', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.team')),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='ace709ccc222dde2ef61f09629211b4afef0d11f', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_886db', table='accounting_budgetevent', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='BudgetVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('amount', models.DecimalField(decimal_places=6, max_digits=18)),
                ('from_on', models.DateField()),
                ('set_at', models.DateTimeField(auto_now_add=True)),
                ('set_by', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=200)),
                ('budget', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='accounting.budget')),
            ],
            options={
                'ordering': ['budget', 'number'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_budgetversionevent" ("amount", "budget_id", "from_on", "id", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "set_at", "set_by") VALUES (NEW."amount", NEW."budget_id", NEW."from_on", NEW."id", NEW."number", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."set_at", NEW."set_by"); RETURN NULL;', hash='bbed18705343cfc9ff22110e90d972a75024890d', operation='INSERT', pgid='pgtrigger_insert_insert_a1ad1', table='accounting_budgetversion', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_budgetversionevent" ("amount", "budget_id", "from_on", "id", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "set_at", "set_by") VALUES (NEW."amount", NEW."budget_id", NEW."from_on", NEW."id", NEW."number", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."reason", NEW."set_at", NEW."set_by"); RETURN NULL;', hash='04cdddb34b106a1dea95b7e85441d6788c6cf6d7', operation='UPDATE', pgid='pgtrigger_update_update_934c8', table='accounting_budgetversion', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_budgetversionevent" ("amount", "budget_id", "from_on", "id", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "set_at", "set_by") VALUES (OLD."amount", OLD."budget_id", OLD."from_on", OLD."id", OLD."number", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."reason", OLD."set_at", OLD."set_by"); RETURN NULL;', hash='dbb7ab0745bcec5fbe5ae3cb3d0431454d054960', operation='DELETE', pgid='pgtrigger_delete_delete_f2c1f', table='accounting_budgetversion', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='BudgetAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period_on', models.DateField()),
                ('threshold', models.CharField(max_length=8)),
                ('fired_at', models.DateTimeField(auto_now_add=True)),
                ('actual', models.DecimalField(decimal_places=6, max_digits=24)),
                ('forecast', models.DecimalField(decimal_places=6, max_digits=24, null=True)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='alerts', to='accounting.budgetversion')),
            ],
            options={
                'ordering': ['-fired_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='BudgetVersionEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('number', models.PositiveIntegerField()),
                ('amount', models.DecimalField(decimal_places=6, max_digits=18)),
                ('from_on', models.DateField()),
                ('set_at', models.DateTimeField(auto_now_add=True)),
                ('set_by', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=200)),
                ('budget', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.budget')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.budgetversion')),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='558496520db7c70e67f0af3bc975c0f676da89c2', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_457e8', table='accounting_budgetversionevent', when='BEFORE'))],
            },
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('department', ''), ('team__isnull', False)), models.Q(('team__isnull', True), models.Q(('department', ''), _negated=True)), _connector='OR'), name='budget_of_team_or_department'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('currency__gt', ''), ('measure', 'money')), models.Q(models.Q(('measure', 'money'), _negated=True), ('currency', '')), _connector='OR'), name='budget_of_money_has_currency'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_on__isnull', True)), fields=('team', 'department', 'unit', 'measure'), name='budget_current_unique', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='budgetversion',
            constraint=models.UniqueConstraint(fields=('budget', 'number'), name='budget_version_unique'),
        ),
        migrations.AddConstraint(
            model_name='budgetversion',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='budget_amount_positive'),
        ),
        migrations.AddConstraint(
            model_name='budgetalert',
            constraint=models.UniqueConstraint(fields=('version', 'period_on', 'threshold'), name='budget_alert_once'),
        ),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in ("budget", "budgetversion")
        ),
    ]
