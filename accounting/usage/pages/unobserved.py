"""The gaps in a team's data, on the data health page."""

from dataclasses import dataclass, replace
from datetime import timedelta

from accounting.access.reads.teams import TeamRef, team_named, visible_teams
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import Interval, to_ms
from accounting.core.money import minor_places
from accounting.kit.texts import instant
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.tables import WorkloadLine, workload_lines
from accounting.usage.reads.ranking import largest
from accounting.usage.reads.unobserved import (
    DataGap,
    data_gaps,
    newest_day,
    unobserved_gpus,
)
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import total_of

DAYS = 7  # of the list of workloads
LISTED = 10
GAPS_LISTED = 20


@dataclass(frozen=True, slots=True)
class GpuHole:
    """A GPU that a team held while it had too few samples."""

    team: TeamRef
    row: UsageRow


@dataclass(frozen=True, slots=True)
class Unobserved:
    """Held time of the visitor's teams that was not observed, and times without data.

    Attributes:
        days: of `total` and `workloads`.
        total: all held time of those days.
        workloads: those with time that was not observed, the largest first.
        workload_count: their total number.
        gpus: the same by GPU, over the last 24 hours of data.
        gaps: newest first, over the days of the calendar.
    """

    days: DayRange
    total: UsageRow
    workloads: list[WorkloadLine]
    workload_count: int
    gpus: list[GpuHole]
    gpu_count: int
    gpu_period: Interval | None
    gaps: list[DataGap]
    gap_count: int

    @property
    def since(self) -> str | None:
        """Start of the GPUs' time as in file names."""
        return instant(self.gpu_period.start_ms) if self.gpu_period else None

    @property
    def until(self) -> str | None:
        """Its end."""
        return instant(self.gpu_period.end_ms) if self.gpu_period else None


def unobserved(state: PageState, calendar: DayRange) -> Unobserved | None:
    """The section for people who see only their teams; None for people without a team.

    Args:
        calendar: the days whose gaps are listed, up to the newest data.
    """
    scope, until = state.visitor.scope, state.chip.until
    if until is None or not scope.sees_any:
        return None
    after = state.today + timedelta(days=1)
    days = DayRange(after - timedelta(days=DAYS), after)
    selection = replace(state.unfiltered(), period=days.period(state.zone))
    teams = visible_teams(scope)
    by = ("team", "workload")
    found = largest(selection, by, "unknown", LISTED, minor_places(state.currency))
    newest = newest_day()
    gpus = unobserved_gpus(selection, newest) if newest else []
    start_ms = calendar.period(state.zone).start_ms
    gaps = data_gaps(scope, Interval(start_ms, to_ms(until)), state.cluster)
    return Unobserved(
        days=days,
        total=total_of(usage_rows(selection, ("team",))),
        workloads=workload_lines(found.rows, teams),
        workload_count=found.count,
        gpus=[
            GpuHole(team_named(teams, row.key["team"]), row) for row in gpus[:LISTED]
        ],
        gpu_count=len(gpus),
        gpu_period=newest,
        gaps=gaps[:GAPS_LISTED],
        gap_count=len(gaps),
    )
