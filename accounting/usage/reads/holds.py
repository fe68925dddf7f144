"""Each hold of a selection (`report holds`, rules.md N35)."""

from fractions import Fraction
from typing import Any

from django.db import connection

from accounting.kit.reads.paging import ALL_ROWS, Key, Seek
from accounting.kit.reads.selection import Selection, refuse_others
from accounting.usage.rules.rows import HoldRow

_QUERY = """
    SELECT h.id, c.name, n.name, p.name, p.uid, nd.name, h.resource, h.units,
           h.share_numerator, h.share_denominator, h.created_ms, h.bound_ms, h.ended_ms,
           h.ended_by, {admission}, coalesce(t.slug, 'unmapped'), coalesce(w.name, p.name)
    FROM accounting_podhold h
    JOIN accounting_pod p ON p.id = h.pod_id
    JOIN accounting_cluster c ON c.id = p.cluster_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    JOIN accounting_node nd ON nd.id = h.node_id
    LEFT JOIN accounting_workload w ON w.id = p.workload_id
    LEFT JOIN accounting_podattribution a ON a.pod_id = p.id
        AND a.valid_from <= to_timestamp(h.bound_ms / 1000.0)
        AND to_timestamp(h.bound_ms / 1000.0) < a.valid_to
    LEFT JOIN accounting_queuedjob j ON p.record ->> 'owner_kind' = 'Job'
        AND j.cluster_id = c.id AND j.namespace = n.name
        AND j.name = p.record ->> 'owner_name'
    LEFT JOIN accounting_team t ON t.id = a.team_id
    WHERE {condition}
    ORDER BY {order}
    LIMIT %(limit)s
"""
_ORDER = (
    "h.bound_ms, c.name, p.uid, h.resource, h.id"  # unique: a page starts after one
)
_AFTER = f"""h.bound_ms >= %(bound)s
    AND ({_ORDER}) > (%(bound)s, %(cluster)s, %(uid)s, %(resource)s, %(id)s)"""
# The pods of a Job that was held back are created when it is admitted: pods that are created later
# replace or follow others, and did not wait with it. The Job's start time is used; without it,
# the last scrape that showed it suspended.
_ADMISSION = """
    CASE WHEN h.created_ms > j.created_ms AND (
            h.created_ms BETWEEN j.started_ms - 1000 AND j.started_ms + 60000
            OR (j.started_ms IS NULL
                AND h.created_ms BETWEEN j.suspended_ms - 60000 AND j.suspended_ms + 120000))
        THEN h.created_ms - j.created_ms END
"""
HOLD_FILTERS = {  # SQL by dimension
    "cluster": "c.name",
    "team": "coalesce(t.slug, 'unmapped')",
    "namespace": "n.name",
    "node": "nd.name",
    "workload": "coalesce(w.name, p.name)",
    "pod": "p.name",
}


def hold_rows(
    selection: Selection, *, pod: str | None = None, seek: Seek = ALL_ROWS
) -> list[HoldRow]:
    """Holds that overlap the period, in full; by bind, cluster, uid and resource.

    Args:
        selection: period and filters.
        pod: only the holds of pods with this name.
        seek: the page, by `hold_key`.

    Raises:
        SelectionError: a filter that holds do not support.
    """
    where = ["true"]
    parameters: dict[str, Any] = {"limit": seek.limit}
    if seek.after is not None:
        where.append(_AFTER)
        names = ("bound", "cluster", "uid", "resource", "id")
        parameters |= dict(zip(names, seek.after, strict=True))
    period = selection.period
    if period is not None:
        where.append(
            """h.bound_ms < %(end)s AND (h.ended_ms IS NULL OR h.ended_ms > %(start)s
               OR (h.ended_ms = h.bound_ms AND h.bound_ms >= %(start)s))"""
        )
        parameters |= {"start": period.start_ms, "end": period.end_ms}
    if pod is not None:
        where.append("p.name = %(pod)s")
        parameters["pod"] = pod
    refuse_others(selection, tuple(HOLD_FILTERS), "holds")
    for name, values in selection.filters.items():
        where.append(f"{HOLD_FILTERS[name]} = ANY(%(f_{name})s)")
        parameters[f"f_{name}"] = list(values)
    if selection.scope.team_ids is not None:
        where.append("a.team_id = ANY(%(scope)s)")
        parameters["scope"] = sorted(selection.scope.team_ids)
    with connection.cursor() as cursor:
        cursor.execute(
            _QUERY.format(
                admission=_ADMISSION, condition=" AND ".join(where), order=_ORDER
            ),
            parameters,
        )
        return [_row(*row) for row in cursor.fetchall()]


def hold_key(row: HoldRow) -> Key:
    """The position of a hold in `hold_rows`."""
    return row.bound_ms, row.cluster, row.uid, row.resource, row.id


def _row(  # noqa: PLR0917  # one parameter a column
    id_: int,
    cluster: str,
    namespace: str,
    pod: str,
    uid: str,
    node: str,
    resource: str,
    units: int,
    numerator: int,
    denominator: int,
    created: int | None,
    bound: int,
    ended: int | None,
    ended_by: str,
    admission: int | None,
    team: str,
    workload: str,
) -> HoldRow:
    return HoldRow(
        id=id_,
        cluster=cluster,
        namespace=namespace,
        pod=pod,
        uid=uid,
        node=node,
        resource=resource,
        units=units,
        share=str(Fraction(numerator, denominator)),
        created_ms=created,
        bound_ms=bound,
        ended_ms=ended,
        ended_by=ended_by,
        wait_ms=None if created is None else bound - created + (admission or 0),
        admission_wait_ms=admission,
        team=team,
        workload=workload,
    )
