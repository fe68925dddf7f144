"""Work on on-demand nodes that could run on spot nodes (scheduling.md S31)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.prices.rules.charge import raw_of
from scheduler_view.savings.rules.amounts import FindingSum
from scheduler_view.savings.rules.finding import Finding, SliceKey, WasteRule

TYPES = frozenset({"batch", "training"})
NOT_AGAIN = frozenset({"", "Pod", "CronJob"})  # nothing makes their pods again


@dataclass(frozen=True, slots=True)
class SpotLimits:
    """Which work may be interrupted: pods at the same time, and its longest hold."""

    pods: int
    longest_ms: int


@dataclass(frozen=True, slots=True)
class SpotWork:
    """One work unit.

    Attributes:
        workload_type: such as batch, training, notebook.
        backoff_limit: of a Job; None if it is not known.
        pods: the most that held GPUs at the same time.
        longest_ms: of its holds.
    """

    workload: int
    kind: str
    workload_type: str
    backoff_limit: int | None
    pods: int
    longest_ms: int

    @property
    def retries(self) -> bool:
        """Whether something makes its pods again after they were ended."""
        if self.kind == "Job":
            return bool(self.backoff_limit and self.backoff_limit > 0)
        return self.kind not in NOT_AGAIN


@dataclass(frozen=True, slots=True)
class OnDemandTime:
    """Observed time of a unit on on-demand nodes, of one team and price.

    Attributes:
        rate, spot_rate: per GPU-hour; None without a price.
    """

    day: int
    team: int
    gpu_ms: int
    rate: Decimal | None
    spot_rate: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class SpotLoss:
    """What runs on spot now, and what preemptions lost there at most, in GPU-ms."""

    held_ms: int
    lost_ms: int

    @property
    def share(self) -> Fraction | None:
        """Of held time; None while nothing runs on spot."""
        return Fraction(self.lost_ms, self.held_ms) if self.held_ms else None


def may_run_on_spot(work: SpotWork, limits: SpotLimits) -> bool:
    """Batch or training work that retries, is not a large gang, and has no long hold."""
    return (
        work.workload_type in TYPES
        and work.retries
        and work.pods <= limits.pods
        and work.longest_ms < limits.longest_ms
    )


def spot_saving(
    work: SpotWork,
    times: Iterable[OnDemandTime],
    loss: SpotLoss,
    span_ms: tuple[int, int],
    limits: SpotLimits,
) -> Finding | None:
    """What the unit's on-demand time would have saved on spot; None if spot is not cheaper.

    At least, the time that preemptions cost on spot now is repeated there; where nothing runs on
    spot, nothing is known of it, and the least is 0.

    Args:
        span_ms: of the day.
        limits: that the work is within.
    """
    amounts = FindingSum()
    for one in times:
        if one.rate is None or one.spot_rate is None:
            key = SliceKey(one.day, one.team, "")
            amounts.add(key, one.gpu_ms, None, span_ms)
            continue
        less = one.rate - one.spot_rate
        if less <= 0:
            continue
        key = SliceKey(one.day, one.team, one.currency)
        amounts.add(key, one.gpu_ms, less, span_ms)
        if one.gpu_ms:
            amounts.lower(key, _least(one, less, loss))
    evidence = {"longest_ms": work.longest_ms, "pods": work.pods}
    evidence |= {"most_pods": limits.pods, "below_ms": limits.longest_ms}
    return amounts.finding(WasteRule.SPOT, work.workload, evidence)


def _least(one: OnDemandTime, less: Decimal, loss: SpotLoss) -> Fraction:
    share = loss.share
    if share is None or one.spot_rate is None:
        return Fraction(0)
    again = raw_of(one.gpu_ms, one.spot_rate) * share
    return max(Fraction(0), raw_of(one.gpu_ms, less) - again)
