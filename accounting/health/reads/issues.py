"""Data issues with their impact (`report issues`, data health)."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated

from django.db import connection

from accounting.core.issue_catalogue import text_of
from accounting.kit.reads.selection import Selection, check_word, refuse_others
from accounting.kit.rows import column, listed, member
from accounting.metering.models.ledger import DataIssue
from accounting.metering.sql.states_sql import held, wall
from accounting.prices.rules.charge import charge_of, raw_of
from accounting.prices.sql.charge_sql import raw


@listed("Issue")
class IssueRow:
    """A fault in the data, with the time at stake."""

    cluster: str = column()
    code: str = column()
    subject: str = column()
    severity: str = column()

    @member()
    def title(self) -> str:
        """The title of the code."""
        return text_of(self.code).title

    message: str = column()
    advice: str = column()
    first_seen: Annotated[datetime, datetime.isoformat] = column()
    last_seen: Annotated[datetime, datetime.isoformat] = column()
    at_stake_ms: int = column()
    at_stake_charge: Decimal | None = column()
    count: int = column()
    resolved_at: Annotated[datetime, datetime.isoformat] | None = column()


_ORDER = {"error": 0, "warning": 1, "info": 2}


OPEN = "open"
STATES = (OPEN, "resolved", "all")


def issue_rows(selection: Selection, state: str = OPEN) -> list[IssueRow]:
    """Issues, open ones first, then by impact; nothing for those who see only teams.

    Their order is one of the data alone: a cluster has one issue of a code and subject.

    Raises:
        SelectionError: a filter by anything but the cluster, or an unknown state.
    """
    check_word("state", state, STATES)
    refuse_others(selection, ("cluster",), "data issues")
    if not selection.scope.sees_all:
        return []
    rows = DataIssue.objects.select_related("cluster")
    if state != "all":
        rows = rows.filter(resolved_at__isnull=state == OPEN)
    if "cluster" in selection.filters:
        rows = rows.filter(cluster__name__in=selection.filters["cluster"])
    if selection.period is not None:
        rows = rows.filter(
            first_seen__lt=selection.period.end, last_seen__gte=selection.period.start
        )
    rates = _rates({row.cluster_id or 0 for row in rows if row.at_stake_ms})
    own = namespace_rates([row for row in rows if row.code == UNMAPPED])
    found = [
        _row(
            row,
            own.get((row.cluster_id or 0, row.subject))
            if row.code == UNMAPPED
            else rates.get(row.cluster_id or 0),
        )
        for row in rows
    ]
    return sorted(
        found,
        key=lambda r: (
            r.resolved_at is not None,
            _ORDER[r.severity],
            -r.at_stake_ms,
            r.code,
            r.subject,
            r.cluster,
        ),
    )


def _row(row: DataIssue, rate: Decimal | None) -> IssueRow:
    at_stake = None
    if row.at_stake_ms and rate is not None and row.code not in UNPRICED:
        at_stake = charge_of(raw_of(row.at_stake_ms, rate))
    return IssueRow(
        cluster=row.cluster.name if row.cluster else "",
        code=row.code,
        subject=row.subject,
        severity=row.severity,
        message=row.message,
        advice=row.advice,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        at_stake_ms=row.at_stake_ms,
        at_stake_charge=at_stake,
        count=row.count,
        resolved_at=row.resolved_at,
    )


UNMAPPED = "unmapped_namespace"  # its subject held the time, at rates that are known
UNPRICED_GPU = "unpriced_gpu"
UNPRICED = frozenset({UNPRICED_GPU})  # at stake is time for which nothing is known


def _rates(clusters: set[int]) -> dict[int, Decimal]:
    """The average cost of a GPU-hour of each cluster, over its last month with data.

    The time of most issues belongs to no single model or team: its cost is estimated at this rate.
    """
    if not clusters:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT d.cluster_id, sum({raw(wall("d"), "d.rate")}) / nullif(sum({wall("d")}), 0)
            FROM usage_day d
            JOIN (SELECT cluster_id, max(billing_on) AS last FROM usage_day
                  WHERE cluster_id = ANY(%s) GROUP BY cluster_id) newest USING (cluster_id)
            WHERE d.rate IS NOT NULL AND d.billing_on > newest.last - 31
            GROUP BY d.cluster_id
            """,
            [sorted(clusters)],
        )
        return {row[0]: row[1] for row in cursor.fetchall() if row[1] is not None}


def namespace_rates(rows: Sequence[DataIssue]) -> dict[tuple[int, str], Decimal]:
    """The average rate of what namespaces without a team held, by cluster and name; known ones."""
    if not rows:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT d.cluster_id, n.name,
                   sum({raw(held("d"), "d.rate")}) / nullif(sum({held("d")}), 0)
            FROM usage_day d JOIN accounting_namespace n ON n.id = d.namespace_id
            WHERE d.rate IS NOT NULL AND d.team_id = 0
              AND d.cluster_id = ANY(%s) AND n.name = ANY(%s)
            GROUP BY d.cluster_id, n.name
            """,
            [[row.cluster_id or 0 for row in rows], [row.subject for row in rows]],
        )
        found = cursor.fetchall()
    return {(cluster, name): rate for cluster, name, rate in found if rate is not None}
