"""How many hours of windows are computed together: by the size of a cluster, and its sources.

The most, unless an operator sets it, is `ingest_hours_at_once` of `portal/env.py`.
"""

from django.conf import settings
from django.db import connection

from accounting.metering.models.cluster import Cluster, SourceKind

# Computed together at most: an hour of the largest cluster (P1).
GPU_HOURS_AT_ONCE = 8_192

_SIZE = """
    SELECT count(*), coalesce(bool_or(kind = %(asked)s), false),
           (SELECT count(*) FROM accounting_gpu WHERE cluster_id = %(cluster)s)
    FROM accounting_source WHERE cluster_id = %(cluster)s AND is_active
"""


def hours_at_once(cluster: Cluster) -> int:
    """How many hours of windows are computed together.

    Evidence and samples are loaded beyond the windows on both sides, so more hours at once cost
    less per hour. Several hours of a small cluster fit into the memory that one hour of a large
    one needs. One hour if a source is queried.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _SIZE, {"cluster": cluster.pk, "asked": SourceKind.PROMETHEUS.value}
        )
        row: tuple[int, bool, int] = cursor.fetchone()
    sources, is_asked, gpus = row
    if is_asked or not sources:
        return 1
    most: int = settings.INGEST_HOURS_AT_ONCE
    return min(most, max(1, GPU_HOURS_AT_ONCE // max(1, gpus)))
