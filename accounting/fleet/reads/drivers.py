"""The driver version of a node, from the labels of its node object."""

import json
from collections.abc import Mapping
from datetime import datetime

from django.db import connection

_WHOLE = (
    "label_nvidia_com_cuda_driver_version_full",
    "label_amd_com_gpu_driver_version",
)
# For nodes whose GPU feature discovery does not have the label with the full version.
_PARTS = tuple(
    f"label_nvidia_com_cuda_driver_{part}" for part in ("major", "minor", "rev")
)

# Only these labels of each node's newest facts: all labels of a large cluster are megabytes.
_NEWEST = """
    SELECT DISTINCT ON (f.node_id) c.name, n.name,
           (SELECT jsonb_object_agg(l.key, l.value) FROM jsonb_each_text(f.labels) l
            WHERE l.key = ANY(%(keys)s))
    FROM accounting_nodefact f
    JOIN accounting_node n ON n.id = f.node_id
    JOIN accounting_cluster c ON c.id = n.cluster_id
    WHERE f.valid_from < %(end)s
    ORDER BY f.node_id, f.valid_from DESC
"""


def driver_of(labels: Mapping[str, str]) -> str:
    """The driver's version in kube-state's `label_*` keys; "" if no label has it."""
    for key in _WHOLE:
        if labels.get(key):
            return labels[key]
    return ".".join(labels[key] for key in _PARTS if labels.get(key))


def drivers(end: datetime) -> dict[tuple[str, str], str]:
    """The last known driver by (cluster, node) before an instant; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, {"keys": [*_WHOLE, *_PARTS], "end": end})
        return {
            (cluster, node): driver_of(json.loads(labels))
            for cluster, node, labels in cursor.fetchall()
            if labels is not None
        }
