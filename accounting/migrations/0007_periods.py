"""Billing periods, their bookings, and entries (money.md M4, M9, M25)."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0006_budgets'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BillingPeriod',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=7, unique=True)),
                ('method', models.CharField(default='alloc-v1', max_length=20)),
            ],
            options={
                'ordering': ['name'],
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_billingperiodevent" ("id", "method", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."id", NEW."method", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id"); RETURN NULL;', hash='1e6c38b6237fdc3d91386d90dd6f52e2c30fd210', operation='INSERT', pgid='pgtrigger_insert_insert_16aa2', table='accounting_billingperiod', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_billingperiodevent" ("id", "method", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."id", NEW."method", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id"); RETURN NULL;', hash='13891f7655e9a45bebcbb91a1a1f9320b6c40db7', operation='UPDATE', pgid='pgtrigger_update_update_2aac1', table='accounting_billingperiod', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_billingperiodevent" ("id", "method", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (OLD."id", OLD."method", OLD."name", _pgh_attach_context(), NOW(), \'delete\', OLD."id"); RETURN NULL;', hash='c89e337963acf25cdca907df5cbe5a3a7f6ecd00', operation='DELETE', pgid='pgtrigger_delete_delete_683b0', table='accounting_billingperiod', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='BillingPeriodEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('name', models.CharField(max_length=7)),
                ('method', models.CharField(default='alloc-v1', max_length=20)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.CharField(max_length=32, unique=True)),
                ('kind', models.CharField(choices=[('credit', 'Credit'), ('adjustment', 'Adjustment')], max_length=10)),
                ('billing_on', models.DateField()),
                ('amount', models.DecimalField(decimal_places=4, max_digits=20)),
                ('currency', models.CharField(max_length=3)),
                ('reason', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['billing_on', 'id'],
            },
        ),
        migrations.CreateModel(
            name='EntryEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('number', models.CharField(max_length=32)),
                ('kind', models.CharField(choices=[('credit', 'Credit'), ('adjustment', 'Adjustment')], max_length=10)),
                ('billing_on', models.DateField()),
                ('amount', models.DecimalField(decimal_places=4, max_digits=20)),
                ('currency', models.CharField(max_length=3)),
                ('reason', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PeriodRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('timezone', models.CharField(max_length=64)),
                ('currency', models.CharField(max_length=3)),
                ('minor_places', models.PositiveSmallIntegerField()),
                ('method', models.CharField(max_length=20)),
                ('booked_at', models.DateTimeField()),
                ('line_count', models.PositiveBigIntegerField(default=0)),
                ('total6', models.DecimalField(decimal_places=6, default=0, max_digits=26)),
                ('payable', models.DecimalField(decimal_places=6, default=0, max_digits=26)),
                ('without_money_ms', models.BigIntegerField(default=0)),
                ('previous_hash', models.CharField(blank=True, max_length=64)),
                ('hash', models.CharField(blank=True, max_length=64)),
                ('closed_at', models.DateTimeField(null=True)),
                ('checks', models.JSONField(default=list)),
                ('reopened_at', models.DateTimeField(null=True)),
                ('reopen_reason', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'ordering': ['period', 'revision'],
            },
        ),
        migrations.CreateModel(
            name='ChargeLine',
            fields=[
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, db_constraint=False, related_name='lines', to='accounting.periodrevision')),
                ('line_id', models.CharField(max_length=32)),
                ('kind', models.CharField(max_length=10)),
                ('team', models.CharField(max_length=63)),
                ('billing_on', models.DateField(null=True)),
                ('cluster', models.CharField(max_length=63)),
                ('namespace', models.CharField(max_length=63)),
                ('workload_kind', models.CharField(max_length=63)),
                ('workload', models.CharField(max_length=253)),
                ('workload_type', models.CharField(max_length=32)),
                ('model', models.CharField(max_length=200)),
                ('profile', models.CharField(max_length=64)),
                ('lifecycle', models.CharField(max_length=16)),
                ('tier', models.CharField(max_length=253)),
                ('state', models.CharField(max_length=8)),
                ('price_currency', models.CharField(max_length=3)),
                ('rate', models.DecimalField(decimal_places=6, max_digits=12, null=True)),
                ('fx', models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ('ms', models.BigIntegerField()),
                ('raw', models.DecimalField(decimal_places=16, max_digits=38, null=True)),
                ('charge', models.DecimalField(decimal_places=6, max_digits=26, null=True)),
                ('status', models.CharField(max_length=11)),
                ('corrects', models.CharField(max_length=16)),
                ('reference', models.CharField(max_length=32)),
                ('pk', models.CompositePrimaryKey('revision_id', 'line_id', blank=True, editable=False, primary_key=True, serialize=False)),
            ],
            options={
                'db_table': 'charge_line',
            },
        ),
        migrations.CreateModel(
            name='RunningLine',
            fields=[
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, db_constraint=False, related_name='running_lines', to='accounting.periodrevision')),
                ('line_id', models.CharField(max_length=32)),
                ('kind', models.CharField(max_length=10)),
                ('team', models.CharField(max_length=63)),
                ('billing_on', models.DateField(null=True)),
                ('cluster', models.CharField(max_length=63)),
                ('namespace', models.CharField(max_length=63)),
                ('workload_kind', models.CharField(max_length=63)),
                ('workload', models.CharField(max_length=253)),
                ('workload_type', models.CharField(max_length=32)),
                ('model', models.CharField(max_length=200)),
                ('profile', models.CharField(max_length=64)),
                ('lifecycle', models.CharField(max_length=16)),
                ('tier', models.CharField(max_length=253)),
                ('state', models.CharField(max_length=8)),
                ('price_currency', models.CharField(max_length=3)),
                ('rate', models.DecimalField(decimal_places=6, max_digits=12, null=True)),
                ('fx', models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ('ms', models.BigIntegerField()),
                ('raw', models.DecimalField(decimal_places=16, max_digits=38, null=True)),
                ('charge', models.DecimalField(decimal_places=6, max_digits=26, null=True)),
                ('status', models.CharField(max_length=11)),
                ('corrects', models.CharField(max_length=16)),
                ('reference', models.CharField(max_length=32)),
                ('pk', models.CompositePrimaryKey('revision_id', 'line_id', blank=True, editable=False, primary_key=True, serialize=False)),
            ],
            options={
                'db_table': 'running_line',
            },
        ),
        migrations.CreateModel(
            name='PeriodRevisionEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('timezone', models.CharField(max_length=64)),
                ('currency', models.CharField(max_length=3)),
                ('minor_places', models.PositiveSmallIntegerField()),
                ('method', models.CharField(max_length=20)),
                ('previous_hash', models.CharField(blank=True, max_length=64)),
                ('hash', models.CharField(blank=True, max_length=64)),
                ('closed_at', models.DateTimeField(null=True)),
                ('checks', models.JSONField(default=list)),
                ('reopened_at', models.DateTimeField(null=True)),
                ('reopen_reason', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Statement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('team', models.CharField(max_length=63)),
                ('own6', models.DecimalField(decimal_places=6, max_digits=26)),
                ('entries6', models.DecimalField(decimal_places=6, max_digits=26)),
                ('corrections6', models.DecimalField(decimal_places=6, max_digits=26)),
                ('total6', models.DecimalField(decimal_places=6, max_digits=26)),
                ('payable', models.DecimalField(decimal_places=6, max_digits=26)),
                ('busy_ms', models.BigIntegerField()),
                ('idle_ms', models.BigIntegerField()),
                ('unknown_ms', models.BigIntegerField()),
                ('without_money_ms', models.BigIntegerField()),
            ],
            options={
                'ordering': ['revision', 'team'],
            },
        ),
        migrations.AddField(
            model_name='billingperiodevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='billingperiodevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.billingperiod'),
        ),
        migrations.AddField(
            model_name='entry',
            name='author',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='entry',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='accounting.team'),
        ),
        migrations.AddField(
            model_name='entryevent',
            name='author',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='entryevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='entryevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.entry'),
        ),
        migrations.AddField(
            model_name='entryevent',
            name='team',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.team'),
        ),
        migrations.AddField(
            model_name='periodrevision',
            name='closed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='periodrevision',
            name='reopen_confirmed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='periodrevision',
            name='reopened_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='closed_by',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.periodrevision'),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='reopen_confirmed_by',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='reopened_by',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='statement',
            name='revision',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='statements', to='accounting.periodrevision'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='billingperiodevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='773d2846e6e617227c08d07871365c8eaf2ba105', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_306ba', table='accounting_billingperiodevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='entry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__lt', 0), ('kind', 'credit')), models.Q(('kind', 'adjustment'), models.Q(('amount', 0), _negated=True)), _connector='OR'), name='entry_sign'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_entryevent" ("amount", "author_id", "billing_on", "created_at", "currency", "id", "kind", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "team_id") VALUES (NEW."amount", NEW."author_id", NEW."billing_on", NEW."created_at", NEW."currency", NEW."id", NEW."kind", NEW."number", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."team_id"); RETURN NULL;', hash='698b075d4c028fd4a3140107ac1d81d8e4fc7298', operation='INSERT', pgid='pgtrigger_insert_insert_ad51d', table='accounting_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_entryevent" ("amount", "author_id", "billing_on", "created_at", "currency", "id", "kind", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "team_id") VALUES (NEW."amount", NEW."author_id", NEW."billing_on", NEW."created_at", NEW."currency", NEW."id", NEW."kind", NEW."number", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."reason", NEW."team_id"); RETURN NULL;', hash='064a6604a29136d5c1cd02591806b534e9fa5b66', operation='UPDATE', pgid='pgtrigger_update_update_31bbd', table='accounting_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entry',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_entryevent" ("amount", "author_id", "billing_on", "created_at", "currency", "id", "kind", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "team_id") VALUES (OLD."amount", OLD."author_id", OLD."billing_on", OLD."created_at", OLD."currency", OLD."id", OLD."kind", OLD."number", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."reason", OLD."team_id"); RETURN NULL;', hash='91f26c7821df30a844d34e8123d38ec004079a84', operation='DELETE', pgid='pgtrigger_delete_delete_02300', table='accounting_entry', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='entryevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='3e6301b1cd57bfde2f341dc74069b3e0680709df', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_80ae9', table='accounting_entryevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='periodrevision',
            constraint=models.UniqueConstraint(fields=('period', 'revision'), name='period_revision_unique'),
        ),
        migrations.AddConstraint(
            model_name='periodrevision',
            constraint=models.UniqueConstraint(condition=models.Q(('reopened_at__isnull', True)), fields=('period',), name='period_revision_one_in_force'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (NEW."checks", NEW."closed_at", NEW."closed_by_id", NEW."currency", NEW."ends_at", NEW."hash", NEW."id", NEW."method", NEW."minor_places", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."previous_hash", NEW."reopen_confirmed_by_id", NEW."reopen_reason", NEW."reopened_at", NEW."reopened_by_id", NEW."revision", NEW."starts_at", NEW."timezone"); RETURN NULL;', hash='86f01d57af22a8c6c180c8e669050f305b9b617f', operation='INSERT', pgid='pgtrigger_insert_insert_cf95c', table='accounting_periodrevision', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."checks" IS DISTINCT FROM (NEW."checks") OR OLD."closed_at" IS DISTINCT FROM (NEW."closed_at") OR OLD."closed_by_id" IS DISTINCT FROM (NEW."closed_by_id") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."ends_at" IS DISTINCT FROM (NEW."ends_at") OR OLD."hash" IS DISTINCT FROM (NEW."hash") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."method" IS DISTINCT FROM (NEW."method") OR OLD."minor_places" IS DISTINCT FROM (NEW."minor_places") OR OLD."period" IS DISTINCT FROM (NEW."period") OR OLD."previous_hash" IS DISTINCT FROM (NEW."previous_hash") OR OLD."reopen_confirmed_by_id" IS DISTINCT FROM (NEW."reopen_confirmed_by_id") OR OLD."reopen_reason" IS DISTINCT FROM (NEW."reopen_reason") OR OLD."reopened_at" IS DISTINCT FROM (NEW."reopened_at") OR OLD."reopened_by_id" IS DISTINCT FROM (NEW."reopened_by_id") OR OLD."revision" IS DISTINCT FROM (NEW."revision") OR OLD."starts_at" IS DISTINCT FROM (NEW."starts_at") OR OLD."timezone" IS DISTINCT FROM (NEW."timezone"))', func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (NEW."checks", NEW."closed_at", NEW."closed_by_id", NEW."currency", NEW."ends_at", NEW."hash", NEW."id", NEW."method", NEW."minor_places", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."previous_hash", NEW."reopen_confirmed_by_id", NEW."reopen_reason", NEW."reopened_at", NEW."reopened_by_id", NEW."revision", NEW."starts_at", NEW."timezone"); RETURN NULL;', hash='078292a060a7ad84fc9aebd88bfb5bf124858de4', operation='UPDATE', pgid='pgtrigger_update_update_d95b7', table='accounting_periodrevision', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (OLD."checks", OLD."closed_at", OLD."closed_by_id", OLD."currency", OLD."ends_at", OLD."hash", OLD."id", OLD."method", OLD."minor_places", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."previous_hash", OLD."reopen_confirmed_by_id", OLD."reopen_reason", OLD."reopened_at", OLD."reopened_by_id", OLD."revision", OLD."starts_at", OLD."timezone"); RETURN NULL;', hash='5cf75f1e451a845f5cc8a2c23b5e3b99a042111f', operation='DELETE', pgid='pgtrigger_delete_delete_5d9cb', table='accounting_periodrevision', when='AFTER')),
        ),
        migrations.AddIndex(
            model_name='chargeline',
            index=models.Index(fields=['revision', 'team', 'billing_on'], name='charge_team'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevisionevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='2fbf0435554f43e6bd8668a6e3b63fce79aeea36', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_5a8e0', table='accounting_periodrevisionevent', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='runningline',
            index=models.Index(fields=['revision', 'team', 'billing_on'], name='running_team'),
        ),
        migrations.AddConstraint(
            model_name='statement',
            constraint=models.UniqueConstraint(fields=('revision', 'team'), name='statement_unique'),
        ),
    ]
