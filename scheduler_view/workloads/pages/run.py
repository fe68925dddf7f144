"""The page of one run: what it did with its GPUs, its life, its cost, and why it waited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.access.rights import WASTE
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.efficiency import StateTimes
from accounting.core.interval import DAY_MS, WINDOW_MS, Interval, to_instant, to_ms
from accounting.core.money import minor_places
from accounting.fleet.pages.small_charts import measures
from accounting.kit.charts import lanes as axis
from accounting.kit.pages.addresses import RANGE_KEYS
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import signed_in, visitor_of
from accounting.kit.reads.selection import Selection, SelectionError
from accounting.metering.rules.intensity.summary import NOT_OBSERVED, Intensity
from accounting.usage.pages.figures import cost_chart
from accounting.usage.pages.page_state import LONGEST_DAYS, PageState
from accounting.usage.pages.steps import FREQUENCY, steps_of
from accounting.usage.reads.coverage import day_coverage, missing_days
from accounting.usage.reads.intensity import with_intensity
from accounting.usage.reads.series import STEPS, step_key
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded_each, total_of
from scheduler_view.idle.reads import IdleRow, every_holder, owner_of_work
from scheduler_view.waits.models import WaitRecord
from scheduler_view.workloads.pages.lanes import (
    drawn,
    lanes_of,
    legend,
    life_bar,
)
from scheduler_view.workloads.pages.others import family_runs, wait_line
from scheduler_view.workloads.reads import (
    RunGpu,
    RunHolds,
    RunKey,
    RunUse,
    clusters_of_pods,
    gpus_of_nodes,
    hours_of_life,
    run_holds,
    run_use,
    step_edges,
    waits_of,
    windows_of,
)
from scheduler_view.workloads.rules import (
    Instants,
    edge_hours,
    finer,
    gaps_of,
    life_of,
    most_at_once,
    together,
)

REPEATED = "CronJob"  # its Jobs come again and again: it has no life of its own
UNEVEN = Decimal("1.05")  # the most that it held at once, against its average
# Objects and metrics say at most so differently when a pod was bound.
SAME_BIND_MS = 2 * WINDOW_MS


class RunState(PageState):
    """The state of a run's page: its whole life, unless the address names a range."""

    def __init__(self, request: HttpRequest, run: RunHolds | None) -> None:
        self.run = run
        self.is_whole = run is not None and not any(
            request.GET.get(name) for name in RANGE_KEYS
        )
        super().__init__(request, compares=False)

    @property
    def until_ms(self) -> int:
        """The end of the newest data, or now."""
        return to_ms(self.chip.until or self.visitor.now)

    def _read_days(self) -> DayRange:
        if self.run is None or not self.is_whole:
            return super()._read_days()
        life = self.run.life(self.until_ms)
        first, last = (
            at.astimezone(self.zone).date()
            for at in (life.start, life.end - timedelta(milliseconds=1))
        )
        first = max(first, last - (LONGEST_DAYS - 1) * DAY)
        return DayRange(min(first, last), max(first, last) + DAY)

    @cached_property
    def range_pairs(self) -> list[tuple[str, str]]:
        """Links to other pages do not take the life of a run along."""
        return [] if self.is_whole else super().range_pairs


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step of a chart: what was measured while the run held GPUs."""

    at: datetime
    length_ms: int
    held: StateTimes
    hard: Intensity

    @property
    def is_unheld(self) -> bool:
        """Whether nothing was held."""
        return not self.held.allocated_ms


@dataclass(frozen=True, slots=True)
class RunMoney:
    """The time and money of a run in the range.

    Attributes:
        by_step: rounded, by the key of a chart's step; `steps` are hours or days.
    """

    total: UsageRow
    by_step: dict[str, UsageRow]
    steps: list[RunStep]


@signed_in
def run_page(
    request: HttpRequest, slug: str, namespace: str, kind: str, name: str
) -> HttpResponse:
    """One run: a sentence, what to act on, its GPUs through time, its life, cost and waits."""
    scope = visitor_of(request).scope
    team = visible_teams(scope).get(slug)
    if team is None or "\0" in namespace + kind + name:
        raise Http404("no such run")
    key = RunKey(slug, namespace, kind, name)
    run = run_holds(scope, key)
    state = RunState(request, run)
    selection = state.selection(team=slug, namespace=namespace, workload=name)
    money = _money(selection, key, state)
    places = set(run.clusters.values()) if run else clusters_of_pods(scope, key)
    if run is None and not money.total.allocated_ms and not places:
        raise Http404("no such run")
    waits = waits_of(key, places)
    missing = missing_days(
        day_coverage(state.days, state.zone, state.cluster), *state.data_days
    )
    steps = steps_of(state, missing)
    context = {
        "state": state,
        "team": team,
        "work": key,
        "run": run,
        "total": money.total,
        "missing_days": missing,
        "frequency": FREQUENCY[state.step],
        "cost": cost_chart(money.by_step, steps, team.slot, state),
        "energy": _energy(money.steps),
        "waits": [wait_line(one) for one in waits],
        "idle": _idle(state, team, key),
    }
    if run is not None:
        context |= _of_holds(state, selection, team, key, run, waits)
        shown = run.life(state.until_ms).intersection(state.period)
        if shown is not None:
            context["measures"] = measures(money.steps, shown, state)
    return render(request, "workloads/run.html", context)


def _money(selection: Selection, key: RunKey, state: RunState) -> RunMoney:
    places = minor_places(state.currency)
    by = ("workload", STEPS[state.step])
    by_step: dict[str, list[UsageRow]] = {}
    steps = []
    for row in with_intensity(usage_rows(selection, by), selection, by):
        if row.key["workload_kind"] == key.kind:
            by_step.setdefault(step_key(row, state.step), []).append(row)
            steps.append(_measured(row, by[1]))
    every = [row for rows in by_step.values() for row in rows]
    [total] = rounded_each([total_of(every)], places)
    rows = rounded_each([total_of(rows) for rows in by_step.values()], places)
    return RunMoney(total, dict(zip(by_step, rows, strict=True)), steps)


def _measured(row: UsageRow, step: str) -> RunStep:
    start, end = step_edges(row.key[step])
    times = StateTimes(row.busy_ms, row.idle_ms, row.unknown_ms)
    return RunStep(to_instant(start), end - start, times, row.hard or NOT_OBSERVED)


def _energy(steps: Sequence[RunStep]) -> float | None:
    """Joules that its GPUs used; None if no counter was read."""
    known = [step.hard.energy_joules for step in steps]
    return sum(filter(None, known)) if any(one is not None for one in known) else None


def _idle(state: RunState, team: TeamRef, key: RunKey) -> IdleRow | None:
    """The run as an idle holder, for people who may act on it; also if it is ignored."""
    if not WASTE.allows(state.visitor.scope):
        return None
    names = key.team, key.namespace, key.kind, key.name
    rows = every_holder(state.visitor.scope, team=team.id)
    return next(
        (one for one in rows if (one.team, one.namespace, one.kind, one.name) == names),
        None,
    )


def _of_holds(
    state: RunState,
    selection: Selection,
    team: TeamRef,
    key: RunKey,
    run: RunHolds,
    waits: Sequence[WaitRecord],
) -> dict[str, object]:
    """What is known of a run whose pods were observed."""
    life = run.life(state.until_ms)
    gpus = gpus_of_nodes(run.nodes)
    try:
        use = run_use(selection, key, run, gpus)
    except SelectionError as error:
        use, refused = RunUse("day", ()), str(error)
    else:
        refused = ""
    lanes = lanes_of(gpus, use.uses)
    shown = life.intersection(state.period) or Interval(life.start_ms, life.start_ms)
    page = paged(lanes, state.query.dict())
    zone = state.visitor.zone
    held = sum(lane.times.allocated_ms for lane in lanes)
    gpus_held = most_at_once(run.holds)
    held_ms = sum(hold.gpus * hold.length_ms(life.end_ms) for hold in run.holds)
    return {
        "life_span": life,
        "gpus": gpus_held,
        "is_uneven": held_ms * UNEVEN < gpus_held * life.length_ms,
        "models": sorted({lane.gpu.model for lane in lanes}),
        "nodes": sorted({lane.gpu.node for lane in lanes}),
        "owner": owner_of_work(run.workloads),
        "refused": refused,
        "step": use.step,
        "count": len(lanes),
        "page": page.drawn(lambda lane: drawn(lane, shown, team.slot, zone, use.step)),
        "ticks": axis.ticks(shown.start, shown.end, zone),
        "legend": legend(lanes, team.slot),
        "lanes_ms": held,
        "others": family_runs(selection, key, run, minor_places(state.currency)),
        **_life(state, key, run, gpus, use, waits),
    }


def _life(
    state: RunState,
    key: RunKey,
    run: RunHolds,
    gpus: Sequence[RunGpu],
    use: RunUse,
    waits: Sequence[WaitRecord],
) -> dict[str, object]:
    life = run.life(state.until_ms)
    if key.kind == REPEATED or not life.length_ms:
        return {}
    instants, gaps = _instants(run, waits, life), gaps_of(run.holds, life)
    by = "window"
    if use.step == by and life.intersection(state.period) == life:
        steps = together(one.step for one in use.uses)
    else:
        steps, fine = hours_of_life(key, run, life), None
        if (
            life.length_ms < settings.FACT_DAYS * DAY_MS
        ):  # facts of its start may be kept
            edges = edge_hours(life_of(instants, steps, gaps))
            fine = finer(steps, windows_of(key, run, gpus, edges), edges)
        steps, by = (steps, "hour") if fine is None else (fine, by)
    found = life_of(instants, steps, gaps, by)
    return {"life": found, "life_bar": life_bar(found.parts), "life_by": by}


def _instants(run: RunHolds, waits: Sequence[WaitRecord], life: Interval) -> Instants:
    """Those of the observed wait of its first pod; without one, what that pod shows."""
    for one in waits:
        wait = wait_line(one).instants
        if (
            wait.bound_ms is not None
            and abs(wait.bound_ms - run.began_ms) < SAME_BIND_MS
        ):
            created = run.created_ms if wait.created_ms is None else wait.created_ms
            bound = min(wait.bound_ms, life.end_ms)
            return Instants(
                created, wait.admitted_ms, bound, wait.started_ms, life.end_ms
            )
    return Instants(run.created_ms, None, life.start_ms, None, life.end_ms)
