"""What a share of work on spot comes to in a week: GPU-hours, preemptions, money (S31, S36)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from accounting.prices.rules.charge import charge_of, raw_of
from scheduler_view.what_if.rules.calibration import Trust
from scheduler_view.what_if.rules.what_ifs.spot_share import (
    SpotShare,
    SpotWeek,
    WorkOnSpot,
    spot_weeks,
)

Number = TypeVar("Number", float, Decimal)

_HOUR = 3_600_000 * 1000  # thousandths of GPUs times milliseconds in a GPU-hour


@dataclass(frozen=True, slots=True)
class SpotAnswer:
    """Each range is from the lowest week without preemptions to the highest week with them.

    Attributes:
        share: that was chosen, of the GPU time of the work that may run on spot.
        hours: GPU-hours on spot.
        preempted: pods.
        cost: of the GPU-hours on spot; None without a rate of spot, or if the replay is not
            calibrated.
        change: how much more a week costs, given what installed GPUs cost more. If no GPUs are
            added or taken away, the GPU-hours that moved are not paid on demand any more.
            None without both rates.
    """

    share: Fraction
    hours: tuple[float, float]
    preempted: tuple[float, float]
    cost: tuple[Decimal, Decimal] | None
    change: tuple[Decimal, Decimal] | None


@dataclass(frozen=True, slots=True)
class OtherCosts:
    """What else a week costs.

    Attributes:
        rate: of a GPU-hour of the cluster; None if it was not given.
        installed: what installed GPUs cost more; None: their number is the same, or no rate.
        trust: only a calibrated replay allows money.
    """

    rate: Decimal | None
    installed: Decimal | None
    trust: Trust


def spot_answer(found: WorkOnSpot, wanted: SpotShare, others: OtherCosts) -> SpotAnswer:
    """The ranges over the weeks.

    Raises:
        ValueError: without a week.
    """
    weeks = spot_weeks(found, wanted)
    cost = change = None
    if wanted.rate is not None and others.trust is Trust.CALIBRATED:
        costs = [
            (_cost(one.least_ms, wanted.rate), _cost(one.most_ms, wanted.rate))
            for one in weeks
        ]
        cost = _range(costs)
        change = _change(weeks, costs, others)
    hours = [(one.least_ms / _HOUR, one.most_ms / _HOUR) for one in weeks]
    preempted = [(one.least_preempted, one.most_preempted) for one in weeks]
    share = Fraction(found.moved_ms, found.eligible_ms)
    return SpotAnswer(share, _range(hours), _range(preempted), cost, change)


def _change(
    weeks: Sequence[SpotWeek],
    costs: Sequence[tuple[Decimal, Decimal]],
    others: OtherCosts,
) -> tuple[Decimal, Decimal] | None:
    if others.rate is None:
        return None
    if others.installed is not None:
        less, more = _range(costs)
        return less + others.installed, more + others.installed
    paid = [_cost(one.least_ms, others.rate) for one in weeks]
    return _range(
        [
            (least - before, most - before)
            for (least, most), before in zip(costs, paid, strict=True)
        ]
    )


def _range(weeks: Sequence[tuple[Number, Number]]) -> tuple[Number, Number]:
    """From the least of all weeks to the most of all weeks."""
    return min(least for least, _ in weeks), max(most for _, most in weeks)


def _cost(milli_ms: int, rate: Decimal) -> Decimal:
    return charge_of(raw_of(milli_ms, rate) / 1000)
