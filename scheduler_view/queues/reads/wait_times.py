"""How long units waited until they were bound, by tier (scheduling.md S3)."""

from datetime import datetime, timedelta

from accounting.access.scope import Scope
from accounting.kit.rows import column, listed
from scheduler_view.queues.models.queues import WaitSummary

SUMMED_SINCE = timedelta(
    days=1
)  # an older summary is of a cluster that is not observed


@listed("WaitTimeRow")
class WaitTimeRow:
    """Waits of one tier over the last 28 days, of all teams.

    Attributes:
        tier: priority class; empty for units without one.
        units: of work.
        p50_ms, p95_ms: of the whole wait, from creation to bind.
        admission_p50_ms, scheduling_p50_ms: of its parts.
        startup_p50_ms: from bind to start; None if no start is known.
    """

    cluster: str = column()
    tier: str = column("priority class")
    units: int = column("units of work that were bound", head="Work")
    p50_ms: int = column(name="wait_p50_ms", head="Median", show="duration")
    p95_ms: int = column(
        name="wait_p95_ms", head="95% waited less than", show="duration"
    )
    admission_p50_ms: int | None = column()
    scheduling_p50_ms: int | None = column()
    startup_p50_ms: int | None = column()


def wait_time_rows(
    scope: Scope, now: datetime, *, cluster: str = ""
) -> list[WaitTimeRow]:
    """By cluster and tier, of all teams, as last summed; none for people without a team."""
    if not scope.sees_any:
        return []
    found = WaitSummary.objects.filter(made_at__gte=now - SUMMED_SINCE)
    if cluster:
        found = found.filter(cluster__name=cluster)
    rows = found.order_by("cluster__name", "-units", "tier")
    return [
        WaitTimeRow(cluster=name, **dict(zip(_SHOWN, values, strict=True)))
        for name, *values in rows.values_list("cluster__name", *_SHOWN)
    ]


_SHOWN = (
    *("tier", "units", "p50_ms", "p95_ms"),
    *("admission_p50_ms", "scheduling_p50_ms", "startup_p50_ms"),
)
