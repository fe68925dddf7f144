"""A cost is a price of its own kind, not a column of a rate."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0013_split_prices'),
    ]

    operations = [
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
            name='price_cost_not_negative',
        ),
        migrations.RemoveField(
            model_name='unitprice',
            name='cost_per_gpu_hour',
        ),
        migrations.RemoveField(
            model_name='unitpriceevent',
            name='cost_per_gpu_hour',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."currency", NEW."id", NEW."kind", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."price_list_id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;', hash='4cb5c666f7627b46ca0dcc9e57276d5ce32ee04e', operation='INSERT', pgid='pgtrigger_insert_insert_a666c', table='accounting_unitprice', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."currency", NEW."id", NEW."kind", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."price_list_id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;', hash='0072d9d4ab1829012177c8c5b5fe00792c0b3261', operation='UPDATE', pgid='pgtrigger_update_update_b7982', table='accounting_unitprice', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='unitprice',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "currency", "id", "kind", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_list_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (OLD."cluster_id", OLD."currency", OLD."id", OLD."kind", OLD."lifecycle", OLD."model", _pgh_attach_context(), NOW(), \'delete\', OLD."id", OLD."price_list_id", OLD."profile", OLD."rate_per_gpu_hour", OLD."source_note", OLD."tier", OLD."valid_from", OLD."valid_to"); RETURN NULL;', hash='a4d24bac5ee81626daf648c973af8fbcaa937470', operation='DELETE', pgid='pgtrigger_delete_delete_c0706', table='accounting_unitprice', when='AFTER')),
        ),
    ]
