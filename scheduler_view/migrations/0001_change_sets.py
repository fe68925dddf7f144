"""Quotas, tiers and change sets, with their history in the chain."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounting', '0006_audit_chain'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ChangeSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('planned', 'Planned'), ('approved', 'Approved'), ('scheduled', 'Scheduled'), ('applying', 'Applying'), ('applied', 'Applied'), ('partly_applied', 'Partly Applied'), ('refused', 'Refused'), ('expired', 'Expired'), ('undone', 'Undone')], default='draft', max_length=14)),
                ('version', models.PositiveIntegerField(default=1)),
                ('author_name', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=200)),
                ('edits', models.JSONField(default=list)),
                ('reverse', models.JSONField(blank=True, default=list)),
                ('forced', models.JSONField(blank=True, default=list)),
                ('plan', models.JSONField(blank=True, default=dict)),
                ('plan_wanted_at', models.DateTimeField(blank=True, null=True)),
                ('planned_at', models.DateTimeField(blank=True, null=True)),
                ('plan_expires_at', models.DateTimeField(blank=True, null=True)),
                ('needs_second', models.BooleanField(default=False)),
                ('approved_by', models.CharField(blank=True, max_length=150)),
                ('approved_at', models.DateTimeField(blank=True, null=True)),
                ('starts_at', models.DateTimeField(blank=True, null=True)),
                ('ends_at', models.DateTimeField(blank=True, null=True)),
                ('apply_wanted_at', models.DateTimeField(blank=True, null=True)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('fence', models.PositiveIntegerField(default=0)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='change_sets', to='accounting.cluster')),
                ('undoes', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='undos', to='scheduler_view.changeset')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ChangeSetEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('planned', 'Planned'), ('approved', 'Approved'), ('scheduled', 'Scheduled'), ('applying', 'Applying'), ('applied', 'Applied'), ('partly_applied', 'Partly Applied'), ('refused', 'Refused'), ('expired', 'Expired'), ('undone', 'Undone')], default='draft', max_length=14)),
                ('version', models.PositiveIntegerField(default=1)),
                ('author_name', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=200)),
                ('edits', models.JSONField(default=list)),
                ('reverse', models.JSONField(blank=True, default=list)),
                ('forced', models.JSONField(blank=True, default=list)),
                ('plan', models.JSONField(blank=True, default=dict)),
                ('plan_wanted_at', models.DateTimeField(blank=True, null=True)),
                ('planned_at', models.DateTimeField(blank=True, null=True)),
                ('plan_expires_at', models.DateTimeField(blank=True, null=True)),
                ('needs_second', models.BooleanField(default=False)),
                ('approved_by', models.CharField(blank=True, max_length=150)),
                ('approved_at', models.DateTimeField(blank=True, null=True)),
                ('starts_at', models.DateTimeField(blank=True, null=True)),
                ('ends_at', models.DateTimeField(blank=True, null=True)),
                ('apply_wanted_at', models.DateTimeField(blank=True, null=True)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('fence', models.PositiveIntegerField(default=0)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.changeset')),
                ('undoes', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='scheduler_view.changeset')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ChangeStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(blank=True, max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('action', models.CharField(max_length=6)),
                ('body', models.JSONField(null=True)),
                ('before', models.JSONField(null=True)),
                ('pin', models.JSONField(default=dict)),
                ('changes', models.JSONField(default=list)),
                ('others', models.JSONField(default=dict)),
                ('blocked', models.TextField(blank=True)),
                ('note', models.TextField(blank=True)),
                ('force', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('applied', 'Applied'), ('unchanged', 'Unchanged'), ('refused', 'Refused')], default='waiting', max_length=9)),
                ('code', models.PositiveSmallIntegerField(null=True)),
                ('message', models.TextField(blank=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('change_set', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='scheduler_view.changeset')),
            ],
            options={
                'ordering': ['change_set', 'position'],
            },
        ),
        migrations.CreateModel(
            name='ChangeStepEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('position', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(blank=True, max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('action', models.CharField(max_length=6)),
                ('body', models.JSONField(null=True)),
                ('before', models.JSONField(null=True)),
                ('pin', models.JSONField(default=dict)),
                ('changes', models.JSONField(default=list)),
                ('others', models.JSONField(default=dict)),
                ('blocked', models.TextField(blank=True)),
                ('note', models.TextField(blank=True)),
                ('force', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('applied', 'Applied'), ('unchanged', 'Unchanged'), ('refused', 'Refused')], default='waiting', max_length=9)),
                ('code', models.PositiveSmallIntegerField(null=True)),
                ('message', models.TextField(blank=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('change_set', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='scheduler_view.changeset')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.changestep')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('digest', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField()),
                ('change_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='scheduler_view.changeset')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='QuotaTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pool', models.CharField(max_length=317)),
                ('tier', models.CharField(blank=True, max_length=63)),
                ('gpus', models.PositiveIntegerField()),
                ('rule', models.CharField(choices=[('evenly', 'evenly'), ('by_use', 'by_use'), ('weights', 'weights')], default='evenly', max_length=8)),
                ('weights', models.JSONField(blank=True, default=dict)),
                ('split', models.JSONField(default=dict)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quota_targets', to='accounting.cluster')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quota_targets', to='accounting.team')),
            ],
            options={
                'ordering': ['cluster', 'team', 'pool', 'tier'],
            },
        ),
        migrations.CreateModel(
            name='QuotaTargetEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('pool', models.CharField(max_length=317)),
                ('tier', models.CharField(blank=True, max_length=63)),
                ('gpus', models.PositiveIntegerField()),
                ('rule', models.CharField(choices=[('evenly', 'evenly'), ('by_use', 'by_use'), ('weights', 'weights')], default='evenly', max_length=8)),
                ('weights', models.JSONField(blank=True, default=dict)),
                ('split', models.JSONField(default=dict)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.quotatarget')),
                ('team', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.team')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Tier',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63)),
                ('value', models.IntegerField()),
                ('preempts', models.BooleanField(default=True)),
                ('is_default', models.BooleanField(default=False)),
                ('description', models.CharField(blank=True, max_length=500)),
                ('class_name', models.CharField(max_length=253)),
                ('old_classes', models.JSONField(blank=True, default=list)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='priority_tiers', to='accounting.cluster')),
            ],
            options={
                'ordering': ['cluster', '-value', 'name'],
            },
        ),
        migrations.CreateModel(
            name='TierEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('name', models.CharField(max_length=63)),
                ('value', models.IntegerField()),
                ('preempts', models.BooleanField(default=True)),
                ('is_default', models.BooleanField(default=False)),
                ('description', models.CharField(blank=True, max_length=500)),
                ('class_name', models.CharField(max_length=253)),
                ('old_classes', models.JSONField(blank=True, default=list)),
                ('version', models.PositiveBigIntegerField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounting.cluster')),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='scheduler_view.tier')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddIndex(
            model_name='changeset',
            index=models.Index(fields=['state'], name='change_by_state'),
        ),
        migrations.AddConstraint(
            model_name='changeset',
            constraint=models.CheckConstraint(condition=models.Q(('ends_at__isnull', True), ('starts_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='change_start_before_end'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changeset',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_changesetevent" ("applied_at", "apply_wanted_at", "approved_at", "approved_by", "author_id", "author_name", "cluster_id", "edits", "ends_at", "error", "fence", "forced", "id", "lease_until", "needs_second", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan", "plan_expires_at", "plan_wanted_at", "planned_at", "reason", "retry_at", "reverse", "starts_at", "state", "undoes_id", "version") VALUES (NEW."applied_at", NEW."apply_wanted_at", NEW."approved_at", NEW."approved_by", NEW."author_id", NEW."author_name", NEW."cluster_id", NEW."edits", NEW."ends_at", NEW."error", NEW."fence", NEW."forced", NEW."id", NEW."lease_until", NEW."needs_second", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."plan", NEW."plan_expires_at", NEW."plan_wanted_at", NEW."planned_at", NEW."reason", NEW."retry_at", NEW."reverse", NEW."starts_at", NEW."state", NEW."undoes_id", NEW."version"); RETURN NULL;', hash='29e4abec00465915f5bdc941d5e4b5aff5152ca4', operation='INSERT', pgid='pgtrigger_insert_insert_d85e9', table='scheduler_view_changeset', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changeset',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_changesetevent" ("applied_at", "apply_wanted_at", "approved_at", "approved_by", "author_id", "author_name", "cluster_id", "edits", "ends_at", "error", "fence", "forced", "id", "lease_until", "needs_second", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan", "plan_expires_at", "plan_wanted_at", "planned_at", "reason", "retry_at", "reverse", "starts_at", "state", "undoes_id", "version") VALUES (NEW."applied_at", NEW."apply_wanted_at", NEW."approved_at", NEW."approved_by", NEW."author_id", NEW."author_name", NEW."cluster_id", NEW."edits", NEW."ends_at", NEW."error", NEW."fence", NEW."forced", NEW."id", NEW."lease_until", NEW."needs_second", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."plan", NEW."plan_expires_at", NEW."plan_wanted_at", NEW."planned_at", NEW."reason", NEW."retry_at", NEW."reverse", NEW."starts_at", NEW."state", NEW."undoes_id", NEW."version"); RETURN NULL;', hash='be7f84fdcf09935eb5f2169f578750e506981fbe', operation='UPDATE', pgid='pgtrigger_update_update_377d0', table='scheduler_view_changeset', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changeset',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_changesetevent" ("applied_at", "apply_wanted_at", "approved_at", "approved_by", "author_id", "author_name", "cluster_id", "edits", "ends_at", "error", "fence", "forced", "id", "lease_until", "needs_second", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan", "plan_expires_at", "plan_wanted_at", "planned_at", "reason", "retry_at", "reverse", "starts_at", "state", "undoes_id", "version") VALUES (OLD."applied_at", OLD."apply_wanted_at", OLD."approved_at", OLD."approved_by", OLD."author_id", OLD."author_name", OLD."cluster_id", OLD."edits", OLD."ends_at", OLD."error", OLD."fence", OLD."forced", OLD."id", OLD."lease_until", OLD."needs_second", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."plan", OLD."plan_expires_at", OLD."plan_wanted_at", OLD."planned_at", OLD."reason", OLD."retry_at", OLD."reverse", OLD."starts_at", OLD."state", OLD."undoes_id", OLD."version"); RETURN NULL;', hash='cfcd629dc4fb7f21fe700a2d300f243e367e1a32', operation='DELETE', pgid='pgtrigger_delete_delete_e625f', table='scheduler_view_changeset', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changesetevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='4a161841730f34f9159a9621c4b74496808e8840', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_3397b', table='scheduler_view_changesetevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='changestep',
            constraint=models.UniqueConstraint(fields=('change_set', 'position'), name='change_step_unique'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changestep',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_changestepevent" ("action", "before", "blocked", "body", "change_set_id", "changes", "code", "done_at", "force", "id", "kind", "message", "name", "namespace", "note", "others", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pin", "position", "state") VALUES (NEW."action", NEW."before", NEW."blocked", NEW."body", NEW."change_set_id", NEW."changes", NEW."code", NEW."done_at", NEW."force", NEW."id", NEW."kind", NEW."message", NEW."name", NEW."namespace", NEW."note", NEW."others", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."pin", NEW."position", NEW."state"); RETURN NULL;', hash='b7e2e595c58cec8a2bf774ee070ec9984411b89f', operation='INSERT', pgid='pgtrigger_insert_insert_ee50a', table='scheduler_view_changestep', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changestep',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_changestepevent" ("action", "before", "blocked", "body", "change_set_id", "changes", "code", "done_at", "force", "id", "kind", "message", "name", "namespace", "note", "others", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pin", "position", "state") VALUES (NEW."action", NEW."before", NEW."blocked", NEW."body", NEW."change_set_id", NEW."changes", NEW."code", NEW."done_at", NEW."force", NEW."id", NEW."kind", NEW."message", NEW."name", NEW."namespace", NEW."note", NEW."others", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."pin", NEW."position", NEW."state"); RETURN NULL;', hash='abb6df9455c5ae054cc0ed66e62ee67627bb8e14', operation='UPDATE', pgid='pgtrigger_update_update_dac54', table='scheduler_view_changestep', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changestep',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_changestepevent" ("action", "before", "blocked", "body", "change_set_id", "changes", "code", "done_at", "force", "id", "kind", "message", "name", "namespace", "note", "others", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pin", "position", "state") VALUES (OLD."action", OLD."before", OLD."blocked", OLD."body", OLD."change_set_id", OLD."changes", OLD."code", OLD."done_at", OLD."force", OLD."id", OLD."kind", OLD."message", OLD."name", OLD."namespace", OLD."note", OLD."others", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."pin", OLD."position", OLD."state"); RETURN NULL;', hash='7c26f0742ab7ea7a6276df9eef10f51595a648d4', operation='DELETE', pgid='pgtrigger_delete_delete_2189f', table='scheduler_view_changestep', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='changestepevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='78d99633dee50f16fd7e642be168f2b8e9dd46d5', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_199b1', table='scheduler_view_changestepevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(fields=('user', 'key'), name='idempotency_unique'),
        ),
        migrations.AddConstraint(
            model_name='quotatarget',
            constraint=models.UniqueConstraint(fields=('cluster', 'team', 'pool', 'tier'), name='quota_target_unique'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='quotatarget',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_quotatargetevent" ("cluster_id", "gpus", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool", "rule", "split", "team_id", "tier", "version", "weights") VALUES (NEW."cluster_id", NEW."gpus", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."pool", NEW."rule", NEW."split", NEW."team_id", NEW."tier", NEW."version", NEW."weights"); RETURN NULL;', hash='104b29041f07432567d325e5652ad854cd5bca8d', operation='INSERT', pgid='pgtrigger_insert_insert_eda61', table='scheduler_view_quotatarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='quotatarget',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_quotatargetevent" ("cluster_id", "gpus", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool", "rule", "split", "team_id", "tier", "version", "weights") VALUES (NEW."cluster_id", NEW."gpus", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."pool", NEW."rule", NEW."split", NEW."team_id", NEW."tier", NEW."version", NEW."weights"); RETURN NULL;', hash='390ae085e2763789b221e75c2a0b5704297a611c', operation='UPDATE', pgid='pgtrigger_update_update_08f22', table='scheduler_view_quotatarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='quotatarget',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_quotatargetevent" ("cluster_id", "gpus", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "pool", "rule", "split", "team_id", "tier", "version", "weights") VALUES (OLD."cluster_id", OLD."gpus", OLD."id", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."pool", OLD."rule", OLD."split", OLD."team_id", OLD."tier", OLD."version", OLD."weights"); RETURN NULL;', hash='25665b58764fc9b93b5acf7859323d0da7952f4d', operation='DELETE', pgid='pgtrigger_delete_delete_5dd8d', table='scheduler_view_quotatarget', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='quotatargetevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='52a10085b89a4e011ad4eea9b072550b911f1251', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_a38ba', table='scheduler_view_quotatargetevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='tier',
            constraint=models.UniqueConstraint(fields=('cluster', 'name'), name='tier_unique'),
        ),
        migrations.AddConstraint(
            model_name='tier',
            constraint=models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('cluster',), name='tier_one_default'),
        ),
        migrations.AddConstraint(
            model_name='tier',
            constraint=models.CheckConstraint(condition=models.Q(('value__lte', 1000000000)), name='tier_value_allowed'),
        ),
        migrations.AddConstraint(
            model_name='tier',
            constraint=models.CheckConstraint(condition=models.Q(('name__startswith', 'system-'), _negated=True), name='tier_name_allowed'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='tier',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_tierevent" ("class_name", "cluster_id", "description", "id", "is_default", "name", "old_classes", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "preempts", "value", "version") VALUES (NEW."class_name", NEW."cluster_id", NEW."description", NEW."id", NEW."is_default", NEW."name", NEW."old_classes", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."preempts", NEW."value", NEW."version"); RETURN NULL;', hash='c6595a304cf06e6e4f6ac2386fb80db2d22d2bab', operation='INSERT', pgid='pgtrigger_insert_insert_4aed6', table='scheduler_view_tier', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='tier',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "scheduler_view_tierevent" ("class_name", "cluster_id", "description", "id", "is_default", "name", "old_classes", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "preempts", "value", "version") VALUES (NEW."class_name", NEW."cluster_id", NEW."description", NEW."id", NEW."is_default", NEW."name", NEW."old_classes", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."preempts", NEW."value", NEW."version"); RETURN NULL;', hash='acd0b14dfd00ccc41986fd5004323ce1e73c6b6b', operation='UPDATE', pgid='pgtrigger_update_update_f561a', table='scheduler_view_tier', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='tier',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "scheduler_view_tierevent" ("class_name", "cluster_id", "description", "id", "is_default", "name", "old_classes", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "preempts", "value", "version") VALUES (OLD."class_name", OLD."cluster_id", OLD."description", OLD."id", OLD."is_default", OLD."name", OLD."old_classes", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."preempts", OLD."value", OLD."version"); RETURN NULL;', hash='7569089bb2a7e920ead0795ec7ef9b5e570092c8', operation='DELETE', pgid='pgtrigger_delete_delete_93c5b', table='scheduler_view_tier', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='tierevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='957c144661bf832607a92e0ed18778678ee591fd', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_2db44', table='scheduler_view_tierevent', when='BEFORE')),
        ),
        *(
            migrations.RunSQL(
                f"SELECT accounting_chain_table('scheduler_view_{table}event')",
                f"DROP TRIGGER chain ON scheduler_view_{table}event",
            )
            for table in ("quotatarget", "tier", "changeset", "changestep")
        ),
    ]
