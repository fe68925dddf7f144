"""Contests of statements; their history joins the audit chain."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0016_team_quotas'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Contest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('of', models.CharField(choices=[('statement', 'The whole statement'), ('row', 'A row of the statement'), ('line', 'A line of the charges')], max_length=9)),
                ('subject', models.TextField(blank=True)),
                ('title', models.CharField(max_length=500)),
                ('amount', models.DecimalField(decimal_places=6, max_digits=26, null=True)),
                ('currency', models.CharField(max_length=3)),
                ('state', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('accepted', 'Accepted'), ('withdrawn', 'Withdrawn')], default='open', max_length=9)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='contests', to='accounting.team')),
            ],
            options={
                'ordering': ['-id'],
                'triggers': [pgtrigger.compiler.Trigger(name='kept', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;", hash='a6a6e99736f24ee138acccd6b29895888377b1c4', operation='DELETE', pgid='pgtrigger_kept_1a3ab', table='accounting_contest', when='BEFORE')), pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_contestevent" ("amount", "currency", "id", "of", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "revision", "state", "subject", "team_id", "title") VALUES (NEW."amount", NEW."currency", NEW."id", NEW."of", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."revision", NEW."state", NEW."subject", NEW."team_id", NEW."title"); RETURN NULL;', hash='3ed610f1671d86bccacd54a733e0fd0e6f2f7f35', operation='INSERT', pgid='pgtrigger_insert_insert_988e6', table='accounting_contest', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_contestevent" ("amount", "currency", "id", "of", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "revision", "state", "subject", "team_id", "title") VALUES (NEW."amount", NEW."currency", NEW."id", NEW."of", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."revision", NEW."state", NEW."subject", NEW."team_id", NEW."title"); RETURN NULL;', hash='9a89396332c31a7b3d977886daa2876fc34b6350', operation='UPDATE', pgid='pgtrigger_update_update_d2bd0', table='accounting_contest', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_contestevent" ("amount", "currency", "id", "of", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "revision", "state", "subject", "team_id", "title") VALUES (OLD."amount", OLD."currency", OLD."id", OLD."of", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."revision", OLD."state", OLD."subject", OLD."team_id", OLD."title"); RETURN NULL;', hash='b7750e1ea8161492f3fefcce1f15599fefed0b72', operation='DELETE', pgid='pgtrigger_delete_delete_28ec7', table='accounting_contest', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='ContestEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('period', models.CharField(max_length=7)),
                ('revision', models.PositiveIntegerField()),
                ('of', models.CharField(choices=[('statement', 'The whole statement'), ('row', 'A row of the statement'), ('line', 'A line of the charges')], max_length=9)),
                ('subject', models.TextField(blank=True)),
                ('title', models.CharField(max_length=500)),
                ('amount', models.DecimalField(decimal_places=6, max_digits=26, null=True)),
                ('currency', models.CharField(max_length=3)),
                ('state', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('accepted', 'Accepted'), ('withdrawn', 'Withdrawn')], default='open', max_length=9)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.contest')),
                ('team', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.team')),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='be8d2354486e984678b65df6267bf92c6bba9dad', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_68e6b', table='accounting_contestevent', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='ContestStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('act', models.CharField(choices=[('contested', 'contested it'), ('answered', 'answered'), ('accepted', 'accepted the answer'), ('reopened', 'opened it again'), ('withdrawn', 'withdrew it')], max_length=9)),
                ('text', models.CharField(blank=True, max_length=200)),
                ('at', models.DateTimeField()),
                ('answer', models.CharField(blank=True, choices=[('entry', 'A credit or adjustment'), ('mapping', 'A changed rule'), ('reason', 'A reason why it stays')], max_length=7)),
                ('binding', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounting.binding')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('contest', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='accounting.contest')),
                ('entry', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounting.entry')),
            ],
            options={
                'ordering': ['id'],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='8363356615ab5e974121b6e9ac3868ab4ab4243d', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_2556b', table='accounting_conteststep', when='BEFORE')), pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_conteststepevent" ("act", "answer", "at", "binding_id", "by_id", "contest_id", "entry_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "text") VALUES (NEW."act", NEW."answer", NEW."at", NEW."binding_id", NEW."by_id", NEW."contest_id", NEW."entry_id", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."text"); RETURN NULL;', hash='29f9ef48cb7281c4d1d7cf2e981e8e6ff55c4dc1', operation='INSERT', pgid='pgtrigger_insert_insert_936a2', table='accounting_conteststep', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_conteststepevent" ("act", "answer", "at", "binding_id", "by_id", "contest_id", "entry_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "text") VALUES (NEW."act", NEW."answer", NEW."at", NEW."binding_id", NEW."by_id", NEW."contest_id", NEW."entry_id", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."text"); RETURN NULL;', hash='2119249891589f3da5cd14473ce9b13a3b587818', operation='UPDATE', pgid='pgtrigger_update_update_9079a', table='accounting_conteststep', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_conteststepevent" ("act", "answer", "at", "binding_id", "by_id", "contest_id", "entry_id", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "text") VALUES (OLD."act", OLD."answer", OLD."at", OLD."binding_id", OLD."by_id", OLD."contest_id", OLD."entry_id", OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."text"); RETURN NULL;', hash='2613094548eb0607b2be1e0ecddb6c99afe51e8d', operation='DELETE', pgid='pgtrigger_delete_delete_4a404', table='accounting_conteststep', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='ContestStepEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('act', models.CharField(choices=[('contested', 'contested it'), ('answered', 'answered'), ('accepted', 'accepted the answer'), ('reopened', 'opened it again'), ('withdrawn', 'withdrew it')], max_length=9)),
                ('text', models.CharField(blank=True, max_length=200)),
                ('at', models.DateTimeField()),
                ('answer', models.CharField(blank=True, choices=[('entry', 'A credit or adjustment'), ('mapping', 'A changed rule'), ('reason', 'A reason why it stays')], max_length=7)),
                ('binding', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.binding')),
                ('by', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('contest', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.contest')),
                ('entry', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.entry')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='accounting.conteststep')),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='99799599ebface501ebe7889b48e699e8d87e82d', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_b5e23', table='accounting_conteststepevent', when='BEFORE'))],
            },
        ),
        migrations.AddConstraint(
            model_name='contest',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['open', 'answered'])), fields=('team', 'period', 'revision', 'of', 'subject'), name='contest_unsettled_unique'),
        ),
        migrations.AddConstraint(
            model_name='conteststep',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('act', 'answered'), ('answer', 'entry'), ('binding', None), ('entry__isnull', False)), models.Q(('act', 'answered'), ('answer', 'mapping'), ('binding__isnull', False), ('entry', None)), models.Q(('act', 'answered'), ('answer', 'reason'), ('binding', None), ('entry', None)), models.Q(models.Q(('act', 'answered'), _negated=True), ('answer', ''), ('binding', None), ('entry', None)), _connector='OR'), name='contest_step_answer'),
        ),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('accounting_{table}event')",
                f"DROP TRIGGER chain ON accounting_{table}event",
            )
            for table in ("contest", "conteststep")
        ),
    ]
