"""The objects of kube-state jobs, and since when two jobs show the same object (N40).

Stored only for clusters with several jobs: a job that shows only objects that the leading jobs do
not show is a shard.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import connection

from accounting.core.interval import to_ms
from accounting.metering.models.evidence import KubeJobObject
from accounting.metering.rules.inventory.kube_state.job_samples import Object, Side

Overlaps = dict[tuple[Side, Side], tuple[int, str]]  # since when, and which object

_PUT_OBJECTS = """
    INSERT INTO accounting_kubejobobject (kube_job_id, name, is_reference, first_ms)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bool[], %s::bigint[])
    ON CONFLICT (kube_job_id, name, is_reference) DO UPDATE
        SET first_ms = excluded.first_ms
        WHERE excluded.first_ms < accounting_kubejobobject.first_ms
    RETURNING name
"""
_PUT_OVERLAPS = """
    INSERT INTO accounting_kubejoboverlap (kube_job_id, other_id, first_ms, name)
    SELECT DISTINCT ON (a.kube_job_id, b.kube_job_id)
           a.kube_job_id, b.kube_job_id, greatest(a.first_ms, b.first_ms) AS at, a.name
    FROM accounting_kubejobobject a
    JOIN accounting_kubejobobject b ON b.name = a.name
    WHERE NOT a.is_reference AND a.name = ANY(%(names)s)
      AND a.kube_job_id = ANY(%(jobs)s) AND b.kube_job_id = ANY(%(jobs)s)
      AND a.kube_job_id <> b.kube_job_id
    ORDER BY a.kube_job_id, b.kube_job_id, at, a.name
    ON CONFLICT (kube_job_id, other_id) DO UPDATE
        SET first_ms = excluded.first_ms, name = excluded.name
        WHERE (excluded.first_ms, excluded.name) <
              (accounting_kubejoboverlap.first_ms, accounting_kubejoboverlap.name)
    RETURNING kube_job_id, other_id, first_ms, name
"""


def store(
    ids: Mapping[Side, int], shown: Mapping[Side, Mapping[Object, int]]
) -> Overlaps:
    """Store the objects of jobs; returns the changed overlaps.

    Args:
        ids: rows of the cluster's jobs.
        shown: by job, each object with its first sample.
    """
    rows = [
        (ids[side], found.name, found.is_reference, at)
        for side, own in shown.items()
        for found, at in own.items()
    ]
    if not rows:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            _PUT_OBJECTS, [list(column) for column in zip(*rows, strict=True)]
        )
        names = sorted({row[0] for row in cursor.fetchall()})
    return _keep_overlaps(ids, names)


def _keep_overlaps(ids: Mapping[Side, int], names: Sequence[str]) -> Overlaps:
    by_id = {pk: side for side, pk in ids.items()}
    found: Overlaps = {}
    with connection.cursor() as cursor:
        for start in range(0, len(names), 10_000):
            part = list(names[start : start + 10_000])
            cursor.execute(_PUT_OVERLAPS, {"names": part, "jobs": list(by_id)})
            for pk, other, at, name in cursor.fetchall():
                pair, known = (by_id[pk], by_id[other]), (at, name)
                found[pair] = min(known, found.get(pair, known))
    return found


_OF_THE_FIRST = """
    INSERT INTO accounting_kubejobobject (kube_job_id, name, is_reference, first_ms)
    SELECT %(pk)s, name, is_reference, min(first_ms) FROM (
        SELECT 'pod ' || p.uid AS name, false AS is_reference, p.first_ms
        FROM accounting_pod p
        WHERE p.cluster_id = %(cluster)s AND p.first_ms IS NOT NULL
        UNION ALL
        SELECT 'namespace ' || n.name, true, p.first_ms
        FROM accounting_pod p JOIN accounting_namespace n ON n.id = p.namespace_id
        WHERE p.cluster_id = %(cluster)s AND p.first_ms IS NOT NULL
        UNION ALL
        SELECT 'node ' || (p.record ->> 'node'), false,
               (p.record ->> 'node_first_ms')::bigint
        FROM accounting_pod p
        WHERE p.cluster_id = %(cluster)s AND p.record ? 'node_first_ms'
        UNION ALL
        SELECT concat('owner ', p.record ->> 'owner_kind', ' ', n.name, '/',
                      p.record ->> 'owner_name'), true, p.first_ms
        FROM accounting_pod p JOIN accounting_namespace n ON n.id = p.namespace_id
        WHERE p.cluster_id = %(cluster)s AND p.first_ms IS NOT NULL
          AND p.record ->> 'owner_kind' IN ('ReplicaSet', 'Job')
        UNION ALL
        SELECT 'node ' || n.name, false, s.first_ms
        FROM accounting_nodespan s JOIN accounting_node n ON n.id = s.node_id
        WHERE n.cluster_id = %(cluster)s
        UNION ALL
        SELECT 'namespace ' || n.name, false,
               (extract(epoch FROM l.valid_from) * 1000)::bigint
        FROM accounting_namespacelabels l
        JOIN accounting_namespace n ON n.id = l.namespace_id
        WHERE n.cluster_id = %(cluster)s
        UNION ALL
        SELECT concat('owner ', o.kind, ' ', n.name, '/', o.name), false, %(first)s
        FROM accounting_owner o JOIN accounting_namespace n ON n.id = o.namespace_id
        WHERE n.cluster_id = %(cluster)s
    ) shown
    GROUP BY name, is_reference
    ON CONFLICT (kube_job_id, name, is_reference) DO UPDATE
        SET first_ms = excluded.first_ms
        WHERE excluded.first_ms < accounting_kubejobobject.first_ms
"""


def store_all(cluster_id: int, job_id: int, since_ms: int) -> None:
    """Store the objects of a cluster's only job so far: all evidence belongs to it."""
    values = {"cluster": cluster_id, "pk": job_id, "first": since_ms}
    with connection.cursor() as cursor:
        cursor.execute(_OF_THE_FIRST, values)


def forget_pods(before: datetime) -> None:
    """Delete pods that were first shown before an instant: `KubeJobOverlap` keeps the oldest.

    A pod that still exists is stored again with its next sample.
    """
    old = KubeJobObject.objects.filter(first_ms__lt=to_ms(before))
    old.filter(name__startswith="pod ").delete()
