"""The names of teams are stored with a close (money.md M29, M33)."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0022_requested_closes'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='periodrevision',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='periodrevision',
            name='update_update',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='periodrevision',
            name='delete_delete',
        ),
        migrations.AddField(
            model_name='periodrevision',
            name='payers',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='periodrevisionevent',
            name='payers',
            field=models.JSONField(default=dict),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "organization_id", "organization_name", "payers", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (NEW."checks", NEW."closed_at", NEW."closed_by_id", NEW."currency", NEW."ends_at", NEW."hash", NEW."id", NEW."method", NEW."minor_places", NEW."organization_id", NEW."organization_name", NEW."payers", NEW."period", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."previous_hash", NEW."reopen_confirmed_by_id", NEW."reopen_reason", NEW."reopened_at", NEW."reopened_by_id", NEW."revision", NEW."starts_at", NEW."timezone"); RETURN NULL;', hash='b6711f5a85f660f38f5d25b457cab5ad964b3015', operation='INSERT', pgid='pgtrigger_insert_insert_cf95c', table='accounting_periodrevision', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."checks" IS DISTINCT FROM (NEW."checks") OR OLD."closed_at" IS DISTINCT FROM (NEW."closed_at") OR OLD."closed_by_id" IS DISTINCT FROM (NEW."closed_by_id") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."ends_at" IS DISTINCT FROM (NEW."ends_at") OR OLD."hash" IS DISTINCT FROM (NEW."hash") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."method" IS DISTINCT FROM (NEW."method") OR OLD."minor_places" IS DISTINCT FROM (NEW."minor_places") OR OLD."organization_id" IS DISTINCT FROM (NEW."organization_id") OR OLD."organization_name" IS DISTINCT FROM (NEW."organization_name") OR OLD."payers" IS DISTINCT FROM (NEW."payers") OR OLD."period" IS DISTINCT FROM (NEW."period") OR OLD."previous_hash" IS DISTINCT FROM (NEW."previous_hash") OR OLD."reopen_confirmed_by_id" IS DISTINCT FROM (NEW."reopen_confirmed_by_id") OR OLD."reopen_reason" IS DISTINCT FROM (NEW."reopen_reason") OR OLD."reopened_at" IS DISTINCT FROM (NEW."reopened_at") OR OLD."reopened_by_id" IS DISTINCT FROM (NEW."reopened_by_id") OR OLD."revision" IS DISTINCT FROM (NEW."revision") OR OLD."starts_at" IS DISTINCT FROM (NEW."starts_at") OR OLD."timezone" IS DISTINCT FROM (NEW."timezone"))', func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "organization_id", "organization_name", "payers", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (NEW."checks", NEW."closed_at", NEW."closed_by_id", NEW."currency", NEW."ends_at", NEW."hash", NEW."id", NEW."method", NEW."minor_places", NEW."organization_id", NEW."organization_name", NEW."payers", NEW."period", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."previous_hash", NEW."reopen_confirmed_by_id", NEW."reopen_reason", NEW."reopened_at", NEW."reopened_by_id", NEW."revision", NEW."starts_at", NEW."timezone"); RETURN NULL;', hash='6b902fa3ea4acdd7e1cf11820663203e96c38ce1', operation='UPDATE', pgid='pgtrigger_update_update_d95b7', table='accounting_periodrevision', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='periodrevision',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_periodrevisionevent" ("checks", "closed_at", "closed_by_id", "currency", "ends_at", "hash", "id", "method", "minor_places", "organization_id", "organization_name", "payers", "period", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "previous_hash", "reopen_confirmed_by_id", "reopen_reason", "reopened_at", "reopened_by_id", "revision", "starts_at", "timezone") VALUES (OLD."checks", OLD."closed_at", OLD."closed_by_id", OLD."currency", OLD."ends_at", OLD."hash", OLD."id", OLD."method", OLD."minor_places", OLD."organization_id", OLD."organization_name", OLD."payers", OLD."period", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."previous_hash", OLD."reopen_confirmed_by_id", OLD."reopen_reason", OLD."reopened_at", OLD."reopened_by_id", OLD."revision", OLD."starts_at", OLD."timezone"); RETURN NULL;', hash='d2e08baba89255f5f7f3291277a9fc342fd25d99', operation='DELETE', pgid='pgtrigger_delete_delete_5d9cb', table='accounting_periodrevision', when='AFTER')),
        ),
    ]
