"""The labels of a node that say what its GPU resources are, stored beside all of its labels.

Nodes of one kind have the same ones, so that a fleet is counted by kind: all labels name the node.
"""

import django.db.models
from django.db import migrations

# `accounting/domain/units/gpu_units.py` reads these, and no other; a test compares them.
KEYS = (
    "^(unschedulable|label_gpu|sampled_.*"
    "|label_nvidia_com_(gpu_product|gpu_replicas|gpu_count|mig_.*)"
    "|label_cloud_google_com_gke_(accelerator|max_shared_clients_per_gpu|gpu_partition_size)"
    "|label_amd_com_(gpu_product_name|compute_memory_partition|compute_partition))$"
)
FUNCTION = f"""
CREATE FUNCTION public.accounting_gpu_labels(labels jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_object_agg(key, value), '{{}}') FROM jsonb_each(labels)
    WHERE key ~ '{KEYS}'
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0019_lines_by_family")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION public.accounting_gpu_labels(jsonb)"),
        migrations.AddField(
            model_name="nodefact",
            name="gpu_labels",
            field=django.db.models.GeneratedField(
                db_persist=True,
                expression=django.db.models.Func(
                    django.db.models.F("labels"), function="accounting_gpu_labels"
                ),
                output_field=django.db.models.JSONField(),
            ),
        ),
    ]
