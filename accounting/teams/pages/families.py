"""One family of a team: what it held and cost through a range, and its runs (rules.md N41)."""

from dataclasses import dataclass
from decimal import Decimal

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.core.money import amount_of, minor_places
from accounting.fleet.pages.timelines import held_chart
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.selection import Selection
from accounting.teams.pages.of_a_team import OF_A_TEAM, team_of
from accounting.teams.pages.workloads import opened
from accounting.usage.pages.figures import cost_chart
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.splits import filtering
from accounting.usage.pages.steps import FREQUENCY, steps_of
from accounting.usage.pages.tables import Sorter, ordered
from accounting.usage.reads.breakdown import breakdown
from accounting.usage.reads.coverage import (
    covered_length_ms,
    day_coverage,
    missing_days,
)
from accounting.usage.reads.families import RunTime, run_times, was_of_team
from accounting.usage.reads.usage import usage_rows, usage_total
from accounting.usage.rules.comparison import share
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import Rounding, rounded_table

FILTERS = tuple(name for name in OF_A_TEAM if name != "namespace")


@dataclass(frozen=True, slots=True)
class Family:
    """The family of a page."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run; `time` is None if no hold of its pods is known as this team's."""

    key: str  # of the team
    namespace: str
    kind: str
    workload: str
    row: UsageRow
    time: RunTime | None

    @property
    def open_key(self) -> str:
        """The value of `?open=` that shows its pods."""
        return f"{self.namespace}/{self.kind}/{self.workload}/"

    @property
    def is_running(self) -> bool:
        """Whether it holds GPUs as far as is known."""
        return self.time is not None and self.time.ended_ms is None


@dataclass(frozen=True, slots=True)
class RunTable:
    """The runs of a family with their total; `rounding` is what it is more than the rows."""

    lines: tuple[RunLine, ...]
    rounding: Rounding
    total: UsageRow

    @property
    def running(self) -> int:
        """How many hold GPUs."""
        return sum(line.is_running for line in self.lines)


SORTS: dict[str, Sorter] = {
    "run": lambda line: (line.workload.lower(), line.kind),
    "start": lambda line: line.time and line.time.began_ms,
    "end": lambda line: line.time and (line.time.ended_ms or Decimal("Infinity")),
    "gpus": lambda line: line.time and line.time.gpus,
    "allocated": lambda line: line.row.allocated_ms,
    "efficiency": lambda line: line.row.efficiency,
    "idle_charge": lambda line: amount_of(line.row.idle_charge),
    "charge": lambda line: amount_of(line.row.charge),
}


@signed_in
def family(
    request: HttpRequest, slug: str, namespace: str, family: str
) -> HttpResponse:
    """A family's cost and use through a range, what it does now, and its runs."""
    state = PageState(request, filters=FILTERS)
    ref = team_of(state, slug)
    selection = state.selection(team=slug, namespace=namespace, family=family)
    coverage = day_coverage(state.days, state.zone, state.cluster)
    length = covered_length_ms(coverage)
    places = minor_places(state.currency)
    found = breakdown(
        selection,
        "model",
        sides=state.sides(length),
        length_ms=length,
        places=places,
        step=state.step,
    )
    if not found.rows and not was_of_team(ref.id, namespace, family):
        raise Http404("the team has no such family")
    missing = missing_days(coverage, *state.data_days)
    steps = steps_of(state, missing)
    table = _runs(selection, Family(namespace, family), slug, places)
    total = usage_total(state.selection(team=slug))
    context = {
        "state": state,
        "team": ref,
        "family": Family(namespace, family),
        "breakdown": found,
        "models": [row.key["model"] for row in found.rows],
        "share": share(amount_of(found.summary.total.charge), amount_of(total.charge)),
        "missing_days": missing,
        "frequency": FREQUENCY[state.step],
        "held": held_chart(found.steps, steps, ref.slot, state),
        "cost": cost_chart(found.steps, steps, ref.slot, state),
        "table": table,
        "page": paged(ordered(table.lines, state.sort, SORTS, "-start"), state.query),
        "opened": opened(state, slug),
        "close_url": state.url(open=""),
        **filtering(state, {slug: ref}, team=slug),
    }
    return render(request, "teams/family.html", context)


def _runs(selection: Selection, of: Family, slug: str, places: int) -> RunTable:
    exact = usage_rows(selection, ("workload",))
    times = run_times(selection, slug, of.namespace, of.name) if exact else {}
    table = rounded_table(exact, places)
    return RunTable(
        tuple(_line(row, slug, times) for row in table.rows),
        table.rounding,
        table.total,
    )


def _line(row: UsageRow, slug: str, times: dict[tuple[str, str], RunTime]) -> RunLine:
    kind, name = row.key["workload_kind"], row.key["workload"]
    return RunLine(slug, row.key["namespace"], kind, name, row, times.get((kind, name)))
