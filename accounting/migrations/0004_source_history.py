"""The history of a source is that of its settings, not of each reading."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0003_fact_tables'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='source',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='source',
            name='update_update',
        ),
        migrations.RemoveField(
            model_name='sourceevent',
            name='last_error',
        ),
        migrations.RemoveField(
            model_name='sourceevent',
            name='last_read_at',
        ),
        migrations.RemoveField(
            model_name='sourceevent',
            name='last_sample_at',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='source',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "accounting_sourceevent" ("cluster_id", "id", "interval_s", "is_active", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "scales", "settings") VALUES (NEW."cluster_id", NEW."id", NEW."interval_s", NEW."is_active", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."scales", NEW."settings"); RETURN NULL;', hash='8cfa305e48748c2ecb39c6d4497d4fdcb45aa4f9', operation='INSERT', pgid='pgtrigger_insert_insert_3335d', table='accounting_source', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='source',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."cluster_id" IS DISTINCT FROM (NEW."cluster_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."interval_s" IS DISTINCT FROM (NEW."interval_s") OR OLD."is_active" IS DISTINCT FROM (NEW."is_active") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."scales" IS DISTINCT FROM (NEW."scales") OR OLD."settings" IS DISTINCT FROM (NEW."settings"))', func='INSERT INTO "accounting_sourceevent" ("cluster_id", "id", "interval_s", "is_active", "kind", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "scales", "settings") VALUES (NEW."cluster_id", NEW."id", NEW."interval_s", NEW."is_active", NEW."kind", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."scales", NEW."settings"); RETURN NULL;', hash='1ccbb5b40a1e01e652b8f68e39688543583fb56f', operation='UPDATE', pgid='pgtrigger_update_update_e9cf0', table='accounting_source', when='AFTER')),
        ),
    ]
