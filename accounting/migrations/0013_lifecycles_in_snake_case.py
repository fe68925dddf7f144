"""Lifecycles of nodes whose labels were read under names that kube-state does not write.

Their hours become dirty, so that prices by lifecycle match (rules.md N26).
"""

from django.db import migrations

RENAME = """
    WITH spelled(label, value, lifecycle) AS (VALUES
        ('label_eks_amazonaws_com_capacity_type', 'spot', 'spot'),
        ('label_eks_amazonaws_com_capacity_type', 'on_demand', 'on-demand'),
        ('label_eks_amazonaws_com_capacity_type', 'capacity_block', 'reserved'),
        ('label_cloud_google_com_gke_provisioning', 'spot', 'spot'),
        ('label_cloud_google_com_gke_provisioning', 'preemptible', 'spot'),
        ('label_cloud_google_com_gke_provisioning', 'standard', 'on-demand'),
        ('label_kubernetes_azure_com_scalesetpriority', 'regular', 'on-demand')
    ), renamed AS (
        UPDATE accounting_nodefact f SET lifecycle = s.lifecycle
        FROM spelled s
        WHERE f.lifecycle = 'unknown' AND lower(f.labels ->> s.label) = s.value
        RETURNING f.node_id
    )
    INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
    SELECT DISTINCT w.cluster_id, date_trunc('hour', w.window_start, 'UTC'),
           statement_timestamp(), 'lifecycle'
    FROM renamed r JOIN accounting_node n ON n.id = r.node_id
    JOIN accounting_gpupresence p ON p.node_id = n.id
    JOIN accounting_ingestwindow w
      ON w.cluster_id = n.cluster_id
     AND w.window_start > to_timestamp((p.start_ms - 300000) / 1000.0)
     AND (p.end_ms IS NULL OR w.window_start < to_timestamp(p.end_ms / 1000.0))
    ON CONFLICT (cluster_id, hour_start) DO NOTHING
"""


class Migration(migrations.Migration):

    dependencies = [
        ("accounting", "0012_imported_files"),
    ]

    operations = [
        migrations.RunSQL(RENAME, migrations.RunSQL.noop),
    ]
