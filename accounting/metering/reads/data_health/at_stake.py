"""GPU time that is unknown while a source or an exporter does not respond."""

from collections.abc import Collection

from django.db import connection

Target = tuple[str, str]  # job, instance

_WAITING = """
    SELECT unnest(range_agg(int8range(start_ms, start_ms + 300000))) AS span
    FROM (SELECT (extract(epoch FROM window_start) * 1000)::bigint AS start_ms
          FROM accounting_ingestwindow
          WHERE cluster_id = %(cluster)s AND shard = 0 AND content_hash IS NULL
            AND (last_error <> '' OR state = 'pending')) AS w
"""


def waiting_ms(cluster_id: int) -> int:
    """Milliseconds of GPUs in the windows of a cluster that never had a response, tried or not.

    For GPUs that were present when the source last responded; GPUs that were unknown before are
    not included.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT coalesce(sum(least(upper(span), coalesce(p.end_ms, upper(span)))
                                - greatest(lower(span), p.start_ms)), 0)::bigint
            FROM ({_WAITING}) AS waiting
            JOIN accounting_gpupresence p
              ON p.start_ms < upper(span) AND coalesce(p.end_ms, upper(span)) > lower(span)
            JOIN accounting_gpu g ON g.id = p.gpu_id AND g.cluster_id = %(cluster)s
            """,
            {"cluster": cluster_id},
        )
        return int(cursor.fetchone()[0])


def silent_gpus(cluster_id: int, silent: Collection[Target]) -> dict[Target, int]:
    """The number of present GPUs that depend on each of these silent targets.

    For an exporter, the GPUs that it showed last; for kube-state-metrics all GPUs, if no other one
    of the cluster responds: then their holders are unknown.

    Args:
        cluster_id: of the targets.
        silent: (job, instance) of targets that do not respond.
    """
    if not silent:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_SHOWN, [cluster_id, cluster_id])
        rows = cursor.fetchall()
    kube = {(job, instance) for job, instance, is_kube, *_ in rows if is_kube}
    is_blind = kube <= set(silent)
    return {
        (job, instance): (every if is_blind else 0) if is_kube else shown
        for job, instance, is_kube, shown, every in rows
        if (job, instance) in silent
    }


_SHOWN = """
    WITH there AS MATERIALIZED (
        SELECT p.gpu_id, p.node_id FROM accounting_gpupresence p
        JOIN accounting_gpu g ON g.id = p.gpu_id
        WHERE g.cluster_id = %s AND p.end_ms IS NULL
    )
    SELECT t.job, t.instance, bool_or(t.is_kube_state), count(DISTINCT there.gpu_id),
           (SELECT count(*) FROM there)
    FROM accounting_scraper t
    LEFT JOIN accounting_gpuspan s ON s.scraper_id = t.id
    LEFT JOIN there ON there.gpu_id = s.gpu_id AND there.node_id = s.node_id
    WHERE t.cluster_id = %s
    GROUP BY t.job, t.instance
"""
