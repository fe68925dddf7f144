"""Open data issues with what is at stake (`report issues`, data health)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounting.models import DataIssue
from accounting.queries.selection import Selection, refuse_others


@dataclass(frozen=True, slots=True)
class IssueRow:
    """One fault in the data."""

    cluster: str
    code: str
    subject: str
    severity: str
    message: str
    advice: str
    first_seen: datetime
    last_seen: datetime
    at_stake_ms: int
    count: int
    resolved_at: datetime | None

    def fields(self) -> dict[str, Any]:
        """As commands and the API print it."""
        return {
            "cluster": self.cluster,
            "code": self.code,
            "subject": self.subject,
            "severity": self.severity,
            "message": self.message,
            "advice": self.advice,
            "first_seen": self.first_seen.isoformat(),
            "last_seen": self.last_seen.isoformat(),
            "at_stake_ms": self.at_stake_ms,
            "count": self.count,
            "resolved_at": None
            if self.resolved_at is None
            else self.resolved_at.isoformat(),
        }


_ORDER = {"error": 0, "warning": 1, "info": 2}


def issue_rows(selection: Selection, *, with_resolved: bool = False) -> list[IssueRow]:
    """Issues, the weightiest first; nothing for those who see only their teams.

    Raises:
        SelectionError: a filter by anything but the cluster.
    """
    refuse_others(selection, ("cluster",), "data issues")
    if not selection.scope.sees_all:
        return []
    rows = DataIssue.objects.select_related("cluster")
    if not with_resolved:
        rows = rows.filter(resolved_at__isnull=True)
    if "cluster" in selection.filters:
        rows = rows.filter(cluster__name__in=selection.filters["cluster"])
    if selection.period is not None:
        rows = rows.filter(
            first_seen__lt=selection.period.end, last_seen__gte=selection.period.start
        )
    found = [
        IssueRow(
            cluster=row.cluster.name if row.cluster else "",
            code=row.code,
            subject=row.subject,
            severity=row.severity,
            message=row.message,
            advice=row.advice,
            first_seen=row.first_seen,
            last_seen=row.last_seen,
            at_stake_ms=row.at_stake_ms,
            count=row.count,
            resolved_at=row.resolved_at,
        )
        for row in rows
    ]
    return sorted(
        found, key=lambda r: (_ORDER[r.severity], -r.at_stake_ms, r.code, r.subject)
    )
