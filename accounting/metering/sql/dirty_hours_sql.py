"""Marking the hours of spans of time dirty, in SQL.

What a rollup joins (a workload, a lifecycle, a model) may become known after the hours were rolled
up. No fact changes then, and nothing else would roll them up again.
"""

from accounting.core.interval import WINDOW_MS


def mark_spans(spans: str) -> str:
    """Marks the hours of a cluster dirty whose windows some spans meet; existing marks are renewed.

    Windows that are not computed yet count too: another process that computes them at the same time
    may roll them up as they were before.

    Args:
        spans: a query of `low_ms` and `high_ms`, half-open, in milliseconds; no `high_ms`: without
            end. The parameters `cluster` and `reason` are the statement's own.
    """
    return f"""
        INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
        SELECT DISTINCT w.cluster_id, date_trunc('hour', w.window_start, 'UTC'),
               statement_timestamp(), %(reason)s
        FROM ({spans}) s
        JOIN accounting_ingestwindow w
          ON w.cluster_id = %(cluster)s
         AND w.window_start > to_timestamp((s.low_ms - {WINDOW_MS}) / 1000.0)
         AND (s.high_ms IS NULL OR w.window_start < to_timestamp(s.high_ms / 1000.0))
        ON CONFLICT (cluster_id, hour_start) DO UPDATE
            SET marked_at = excluded.marked_at, reason = excluded.reason
    """  # built from this project's own constants
