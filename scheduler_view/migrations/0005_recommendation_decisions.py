"""Decisions about recommendations, with their history in the chain."""

import django.db.models.deletion
import pgtrigger.compiler
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0023_payers_of_a_close'),
        ('pghistory', '0007_auto_20250421_0444'),
        ('scheduler_view', '0004_waste'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RecommendationDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=16)),
                ('state', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('dismissed', 'Dismissed'), ('done', 'Done')], max_length=9)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('decided_at', models.DateTimeField()),
                ('raw_per_day', models.DecimalField(decimal_places=6, max_digits=30)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounting.cluster')),
                ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounting.node')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounting.team')),
                ('workload', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounting.workload')),
            ],
            options={
                'triggers': [pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_recommendationdecisionevent" ("cluster_id", "decided_at", "id", "node_id", "owner_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "raw_per_day", "reason", "rule", "state", "team_id", "workload_id") VALUES (NEW."cluster_id", NEW."decided_at", NEW."id", NEW."node_id", NEW."owner_id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."raw_per_day", NEW."reason", NEW."rule", NEW."state", NEW."team_id", NEW."workload_id"); RETURN NULL;', hash='6561e8c02ccebcf50f2855033ce07b022105ad82', operation='INSERT', pgid='pgtrigger_insert_insert_b24a2', table='scheduler_view_recommendationdecision', when='AFTER')), pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_recommendationdecisionevent" ("cluster_id", "decided_at", "id", "node_id", "owner_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "raw_per_day", "reason", "rule", "state", "team_id", "workload_id") VALUES (NEW."cluster_id", NEW."decided_at", NEW."id", NEW."node_id", NEW."owner_id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."raw_per_day", NEW."reason", NEW."rule", NEW."state", NEW."team_id", NEW."workload_id"); RETURN NULL;', hash='dc6db3eabf3c0c73a1b2c076607974e41392c7de', operation='UPDATE', pgid='pgtrigger_update_update_85555', table='scheduler_view_recommendationdecision', when='AFTER')), pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_recommendationdecisionevent" ("cluster_id", "decided_at", "id", "node_id", "owner_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "raw_per_day", "reason", "rule", "state", "team_id", "workload_id") VALUES (OLD."cluster_id", OLD."decided_at", OLD."id", OLD."node_id", OLD."owner_id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."raw_per_day", OLD."reason", OLD."rule", OLD."state", OLD."team_id", OLD."workload_id"); RETURN NULL;', hash='6c0882619f879f6adba54c73b23f9fa6f46086e1', operation='DELETE', pgid='pgtrigger_delete_delete_1ddff', table='scheduler_view_recommendationdecision', when='AFTER'))],
            },
        ),
        migrations.CreateModel(
            name='RecommendationDecisionEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('rule', models.CharField(max_length=16)),
                ('state', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('dismissed', 'Dismissed'), ('done', 'Done')], max_length=9)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('decided_at', models.DateTimeField()),
                ('raw_per_day', models.DecimalField(decimal_places=6, max_digits=30)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('node', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.node')),
                ('owner', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.recommendationdecision')),
                ('team', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.team')),
                ('workload', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.workload')),
            ],
            options={
                'abstract': False,
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='33f8a88fddbc316be4959f903bc84479898d0a78', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_bbfd2', table='scheduler_view_recommendationdecisionevent', when='BEFORE'))],
            },
        ),
        migrations.AddConstraint(
            model_name='recommendationdecision',
            constraint=models.UniqueConstraint(fields=('cluster', 'rule', 'team', 'workload', 'node'), name='recommendation_decision_unique', nulls_distinct=False),
        ),
        migrations.RunSQL(
            "SELECT accounting_chain_table('scheduler_view_recommendationdecisionevent')",
            "DROP TRIGGER chain ON scheduler_view_recommendationdecisionevent",
        ),
    ]
