"""A what-if over recorded weeks: calibrate first, then answer scenarios (scheduling.md S36)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from scheduler_view.what_if.rules.calibration import (
    Calibration,
    Trust,
    calibrate,
    nearest,
)
from scheduler_view.what_if.rules.held_back import held_back
from scheduler_view.what_if.rules.outcome import (
    WeekOutcome,
    outcomes,
    recorded_outcomes,
)
from scheduler_view.what_if.rules.policies.catalogue import OFFERED
from scheduler_view.what_if.rules.recorded import RecordedWeeks
from scheduler_view.what_if.rules.replay import ReplayedUnit, replay
from scheduler_view.what_if.rules.what_ifs.answer import (
    AnswerRange,
    ranges,
    weekly_cost,
)
from scheduler_view.what_if.rules.what_ifs.scenario import (
    Scenario,
    ScenarioError,
    applied,
)
from scheduler_view.what_if.rules.what_ifs.spot_answer import (
    OtherCosts,
    SpotAnswer,
    spot_answer,
)
from scheduler_view.what_if.rules.what_ifs.spot_share import (
    SpotShareError,
    WorkOnSpot,
    on_spot,
)

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ScenarioAnswer:
    """The answer to one scenario.

    Attributes:
        added_milli: thousandths of GPUs that are installed more than in fact.
        weekly_cost: of these for a week; None without a rate, or if the replay is not calibrated.
        spot: None if the scenario has no spot.
    """

    scenario: Scenario
    ranges: Sequence[AnswerRange]
    added_milli: int
    weekly_cost: Decimal | None
    spot: SpotAnswer | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Calibrations, the best of them, and the answers; none if it is refused."""

    calibrations: Sequence[Calibration]
    chosen: Calibration
    answers: Sequence[ScenarioAnswer]


def what_if(
    weeks: RecordedWeeks,
    scenarios: Sequence[Scenario],
    policy: str = "",
    rate: Decimal | None = None,
    on_progress: OnProgress = lambda what, done, total: None,
) -> WhatIf:
    """Replay what happened, then each scenario.

    Args:
        weeks: at least one.
        scenarios: all are checked before anything is replayed.
        policy: of what happened; empty: the one whose replay is nearest to what was recorded.
        rate: of an installed GPU-hour.
        on_progress: called with a step, and how much of it is done.

    Raises:
        ScenarioError: for a scenario that these weeks cannot be changed to.
    """
    weeks = held_back(
        weeks, lambda done, total: on_progress("what happened, waits", done, total)
    )
    changed = [(scenario, _parted(weeks, scenario)) for scenario in scenarios]
    replays: dict[str, list[ReplayedUnit]] = {}
    calibrations = []
    for name in [policy] if policy else OFFERED:
        step = f"what happened, {name}"
        replays[name] = _replayed(weeks, name, step, on_progress, keeps_nodes=True)
        calibrations.append(calibrate(weeks, name, replays[name]))
    chosen = nearest(calibrations)
    if chosen.trust is Trust.REFUSED:
        return WhatIf(calibrations, chosen, ())
    replayed = outcomes(weeks, replays[chosen.policy])
    anywhere = replayed
    if any(scenario.policy for scenario in scenarios):
        step = f"what happened, {chosen.policy} on any node"
        found = _replayed(weeks, chosen.policy, step, on_progress, keeps_nodes=False)
        anywhere = outcomes(weeks, found)
    recorded = recorded_outcomes(weeks)
    happened = _Happened(weeks, recorded, replayed, anywhere, chosen, rate)
    answers = [
        _answer(happened, scenario, parted, on_progress) for scenario, parted in changed
    ]
    return WhatIf(calibrations, chosen, answers)


@dataclass(frozen=True, slots=True)
class _Happened:
    """What scenarios are compared with.

    Attributes:
        replayed: with pods on the nodes where they were.
        anywhere: with pods where the policy puts them, for scenarios with another policy.
    """

    weeks: RecordedWeeks
    recorded: Sequence[WeekOutcome]
    replayed: Sequence[WeekOutcome]
    anywhere: Sequence[WeekOutcome]
    chosen: Calibration
    rate: Decimal | None


def _answer(
    happened: _Happened,
    scenario: Scenario,
    parted: WorkOnSpot,
    on_progress: OnProgress,
) -> ScenarioAnswer:
    after, chosen, rate = parted.weeks, happened.chosen, happened.rate
    replayed = _replayed(
        after,
        scenario.policy or chosen.policy,
        scenario.name,
        on_progress,
        keeps_nodes=not scenario.policy,
    )
    elsewhere = [ReplayedUnit(unit, unit.bound_ms) for unit in parted.moved]
    found = outcomes(after, replayed, elsewhere)
    more = after.installed_milli - happened.weeks.installed_milli
    cost = None
    if rate is not None:
        cost = weekly_cost(happened.weeks, after, rate, chosen.trust)
    spot = None
    if scenario.spot is not None:
        others = OtherCosts(rate, cost if more else None, chosen.trust)
        spot = spot_answer(parted, scenario.spot, others)
    before = happened.anywhere if scenario.policy else happened.replayed
    measures = ranges(happened.recorded, before, found)
    return ScenarioAnswer(scenario, measures, more, cost, spot)


def _parted(weeks: RecordedWeeks, scenario: Scenario) -> WorkOnSpot:
    """The weeks as they would have been, and what would run on spot."""
    try:
        return on_spot(applied(weeks, scenario), scenario.spot)
    except SpotShareError as error:
        raise ScenarioError(f"{scenario.name}: {error}") from error


def _replayed(
    weeks: RecordedWeeks,
    policy: str,
    step: str,
    on_progress: OnProgress,
    *,
    keeps_nodes: bool,
) -> list[ReplayedUnit]:
    return replay(
        weeks,
        policy,
        on_progress=lambda done, total: on_progress(step, done, total),
        keeps_nodes=keeps_nodes,
    )
