"""How long units waited until they were bound, by tier (scheduling.md S3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounting.access import Scope
from scheduler_view.models import WaitSummary

SUMMED_SINCE = timedelta(
    days=1
)  # an older summary is of a cluster that is not observed


@dataclass(frozen=True, slots=True)
class WaitTimeRow:
    """Waits of the units of one tier and cluster that were bound in the last 28 days.

    Attributes:
        tier: priority class; empty for units without one.
        units: of work.
        p50_ms, p95_ms: of the whole wait, from creation to bind.
        admission_p50_ms, scheduling_p50_ms: of its parts.
        startup_p50_ms: from bind to start; None if no start is known.
    """

    cluster: str
    tier: str
    units: int
    p50_ms: int
    p95_ms: int
    admission_p50_ms: int | None
    scheduling_p50_ms: int | None
    startup_p50_ms: int | None


def wait_time_rows(
    scope: Scope, now: datetime, *, cluster: str = ""
) -> list[WaitTimeRow]:
    """By cluster and tier, of all teams, as last summed; none for people without a team."""
    if not scope.sees_any:
        return []
    found = WaitSummary.objects.filter(made_at__gte=now - SUMMED_SINCE)
    if cluster:
        found = found.filter(cluster__name=cluster)
    rows = found.order_by("cluster__name", "-units", "tier").values_list(*_SHOWN)
    return [WaitTimeRow(*row) for row in rows]


_SHOWN = (
    *("cluster__name", "tier", "units", "p50_ms", "p95_ms"),
    *("admission_p50_ms", "scheduling_p50_ms", "startup_p50_ms"),
)
