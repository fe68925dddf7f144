"""Faults of whole clusters: silent, sampled after their end, sharing GPUs (N38, N39)."""

from typing import Any, NamedTuple

from django.db import connection

from accounting.core.interval import DAY_MS, WINDOW_MS, Interval

SILENT_WINDOWS = (
    DAY_MS // WINDOW_MS
)  # computed without a sample before it is a fault (N38)


class Silence(NamedTuple):
    """A live source that responds and no longer reports samples.

    Attributes:
        period: from the last sample to the end of the newest computed window.
        gpus: that are still present.
        at_stake_ms: their time in that period.
    """

    period: Interval
    gpus: int
    at_stake_ms: int


_LAST_SAMPLE = """
    SELECT greatest(
        (SELECT max(s.last_ms) FROM accounting_gpuspan s
         JOIN accounting_gpu g ON g.id = s.gpu_id WHERE g.cluster_id = %(cluster)s),
        (SELECT max(s.last_ms) FROM accounting_nodespan s
         JOIN accounting_node n ON n.id = s.node_id WHERE n.cluster_id = %(cluster)s))
"""
_SILENCE = """
    SELECT count(*),
           (extract(epoch FROM max(w.window_start)) * 1000)::bigint + 300000
    FROM accounting_ingestwindow w
    WHERE w.cluster_id = %(cluster)s AND w.shard = 0 AND w.content_hash IS NOT NULL
      AND w.window_start > to_timestamp(%(last)s / 1000.0)
      AND EXISTS (SELECT FROM accounting_source s
                  WHERE s.cluster_id = %(cluster)s AND s.is_active
                    AND s.kind <> 'openmetrics')
"""
_THERE = """
    SELECT count(DISTINCT p.gpu_id),
           coalesce(sum(least(coalesce(p.end_ms, %(end)s), %(end)s)
                        - greatest(p.start_ms, %(start)s)), 0)::bigint
    FROM accounting_gpupresence p JOIN accounting_gpu g ON g.id = p.gpu_id
    WHERE g.cluster_id = %(cluster)s AND p.start_ms < %(end)s
      AND coalesce(p.end_ms, %(end)s) > %(start)s
"""


def last_sample_ms(cluster_id: int) -> int | None:
    """The newest sample of any GPU or node of a cluster; None without one."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_SAMPLE, {"cluster": cluster_id})
        found: int | None = cursor.fetchone()[0]
    return found


def silence(cluster_id: int) -> Silence | None:
    """The silence of a cluster with a live source, if it lasts a day of computed windows."""
    last = last_sample_ms(cluster_id)
    if last is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_SILENCE, {"cluster": cluster_id, "last": last})
        count, end = cursor.fetchone()
        if count < SILENT_WINDOWS:
            return None
        values = {"cluster": cluster_id, "start": last, "end": end}
        cursor.execute(_THERE, values)
        gpus, at_stake_ms = cursor.fetchone()
    return Silence(Interval(last, end), gpus, at_stake_ms)


class Sampled(NamedTuple):
    """Samples after the end of a cluster; `at_stake_ms` is the time of the GPUs in them."""

    period: Interval
    gpus: int
    at_stake_ms: int


_SAMPLED = """
    WITH spans AS (
        SELECT s.gpu_id, int8range(greatest(s.first_ms, %(at)s), s.last_ms + 1) AS span
        FROM accounting_gpuspan s JOIN accounting_gpu g ON g.id = s.gpu_id
        WHERE g.cluster_id = %(cluster)s AND s.last_ms >= %(at)s
    ), each AS (
        SELECT gpu_id, (SELECT sum(upper(r) - 1 - lower(r))
                        FROM unnest(range_agg(span)) AS r) AS ms
        FROM spans GROUP BY gpu_id
    ), nodes AS (
        SELECT greatest(s.first_ms, %(at)s) AS first_ms, s.last_ms
        FROM accounting_nodespan s JOIN accounting_node n ON n.id = s.node_id
        WHERE n.cluster_id = %(cluster)s AND s.last_ms >= %(at)s
    )
    SELECT least((SELECT min(lower(span)) FROM spans), (SELECT min(first_ms) FROM nodes)),
           greatest((SELECT max(upper(span)) - 1 FROM spans),
                    (SELECT max(last_ms) FROM nodes)),
           (SELECT count(*) FROM each), (SELECT coalesce(sum(ms), 0)::bigint FROM each)
"""


def sampled_after(cluster_id: int, at_ms: int) -> Sampled | None:
    """The samples of a cluster at and after a time; None without samples."""
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLED, {"cluster": cluster_id, "at": at_ms})
        first, last, gpus, at_stake_ms = cursor.fetchone()
    if first is None:
        return None
    return Sampled(Interval(first, last), gpus, at_stake_ms)


class SharedGpu(NamedTuple):
    """A GPU in several clusters at the same time; `at_stake_ms` is booked twice."""

    uuid: str
    others: tuple[str, ...]
    period: Interval
    at_stake_ms: int


_SHARED = """
    WITH pairs AS (
        SELECT mine.uuid, theirs.cluster_id,
               int8range(
                   greatest(a.start_ms, b.start_ms),
                   least(coalesce(a.end_ms, own.data_end_ms),
                         coalesce(b.end_ms, other.data_end_ms))) AS span, other.name
        FROM accounting_cluster own
        JOIN accounting_gpu mine
          ON mine.cluster_id = own.id AND strpos(mine.uuid, '/') = 0
        JOIN accounting_gpu theirs
          ON theirs.uuid = mine.uuid AND theirs.cluster_id <> mine.cluster_id
        JOIN accounting_cluster other ON other.id = theirs.cluster_id
        JOIN accounting_gpupresence a ON a.gpu_id = mine.id
        JOIN accounting_gpupresence b ON b.gpu_id = theirs.id
         AND a.start_ms < coalesce(b.end_ms, other.data_end_ms)
         AND b.start_ms < coalesce(a.end_ms, own.data_end_ms)
        WHERE own.id = %s
          AND least(coalesce(a.end_ms, own.data_end_ms),
                    coalesce(b.end_ms, other.data_end_ms))
              > greatest(a.start_ms, b.start_ms)
    )
    SELECT uuid, array_agg(DISTINCT name ORDER BY name), min(lower(span)),
           max(upper(span)),
           (SELECT sum(upper(r) - lower(r)) FROM unnest(range_agg(span)) AS r)::bigint
    FROM pairs GROUP BY uuid ORDER BY uuid
"""


def shared_gpus(cluster_id: int) -> list[SharedGpu]:
    """The GPUs of a cluster that other clusters have at the same time."""
    with connection.cursor() as cursor:
        cursor.execute(_SHARED, [cluster_id])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return [
        SharedGpu(uuid, tuple(others), Interval(first, last), at_stake_ms)
        for uuid, others, first, last, at_stake_ms in rows
    ]
