"""A what-if over recorded weeks: calibrate first, then answer scenarios (scheduling.md S36)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from scheduler_view.domain.simulator.answer import AnswerRange, ranges, weekly_cost
from scheduler_view.domain.simulator.calibration import (
    Calibration,
    Trust,
    calibrate,
    nearest,
)
from scheduler_view.domain.simulator.outcome import outcomes, recorded_outcomes
from scheduler_view.domain.simulator.policies.catalogue import POLICIES
from scheduler_view.domain.simulator.recorded import RecordedWeeks
from scheduler_view.domain.simulator.replay import ReplayedUnit, replay
from scheduler_view.domain.simulator.scenario import Scenario, applied

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ScenarioAnswer:
    """The answer to one scenario.

    Attributes:
        added_milli: thousandths of GPUs that are installed more than in fact.
        weekly_cost: of these for a week; None without a rate, or if the replay is not calibrated.
    """

    scenario: Scenario
    ranges: Sequence[AnswerRange]
    added_milli: int
    weekly_cost: Decimal | None


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
    changed = [(scenario, applied(weeks, scenario)) for scenario in scenarios]
    replays: dict[str, list[ReplayedUnit]] = {}
    calibrations = []
    for name in [policy] if policy else list(POLICIES):
        replays[name] = _replayed(weeks, name, f"what happened, {name}", on_progress)
        calibrations.append(calibrate(weeks, name, replays[name]))
    chosen = nearest(calibrations)
    if chosen.trust is Trust.REFUSED:
        return WhatIf(calibrations, chosen, ())
    recorded = recorded_outcomes(weeks)
    baseline = outcomes(weeks, replays[chosen.policy])
    answers = []
    for scenario, after in changed:
        name = scenario.policy or chosen.policy
        found = outcomes(after, _replayed(after, name, scenario.name, on_progress))
        more = after.installed_milli - weeks.installed_milli
        cost = (
            weekly_cost(weeks, after, rate, chosen.trust) if rate is not None else None
        )
        answers.append(
            ScenarioAnswer(scenario, ranges(recorded, baseline, found), more, cost)
        )
    return WhatIf(calibrations, chosen, answers)


def _replayed(
    weeks: RecordedWeeks, policy: str, step: str, on_progress: OnProgress
) -> list[ReplayedUnit]:
    return replay(
        weeks,
        policy,
        on_progress=lambda done, total: on_progress(step, done, total),
    )
