"""What a rule found: which time, of whom, and what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from accounting.prices.rules.charge import raw_of


class WasteRule(StrEnum):
    """The rules: first those whose time adds up, in the order in which they take it."""

    GANG = "gang_incomplete"  # S20
    NEVER_BUSY = "never_busy"  # S29
    TAIL = "tail"  # S29
    IDLE = "idle"  # S28
    IDLE_GPUS = "idle_gpus"  # S28, of single GPUs of a hold
    TOO_LONG = "too_long"  # S23
    SPREAD = "spread"  # S27
    IN_USE = (
        "idle_in_use"  # not a finding: the idle time of S28 that windows with work have
    )
    POLICY = "thrashing"  # S24
    FRAGMENTED = "fragmented"  # S25
    KEPT_NODE = "node_kept"  # S32
    INVERSION = "inversion"  # S21; this one and the following ones overlap others
    STARVED = "starvation"  # S22
    NOT_ALLOCATABLE = "not_allocatable"  # S26
    PREEMPTED = "preemption_loss"  # S30
    SPOT = "spot_eligible"  # S31
    RIGHT_SIZE = "right_size"  # S33


OF_HOLDS = frozenset(
    {
        *(WasteRule.GANG, WasteRule.NEVER_BUSY, WasteRule.TAIL, WasteRule.IDLE),
        *(WasteRule.IDLE_GPUS, WasteRule.TOO_LONG, WasteRule.SPREAD),
        *(WasteRule.IN_USE, WasteRule.PREEMPTED),
    }
)
"""Found in the holds of a work unit, over all days that are kept of it."""
OF_FREE_TIME = frozenset(
    {
        *(WasteRule.POLICY, WasteRule.FRAGMENTED, WasteRule.KEPT_NODE),
        WasteRule.NOT_ALLOCATABLE,
    }
)
"""Found in the free time of one day; nobody's."""


class SliceKey(NamedTuple):
    """Whose time a slice is: a billing day (ordinal), a team (0: none), a currency ("": none)."""

    day: int
    team: int
    currency: str


@dataclass(slots=True)
class Slice:
    """The part of a finding on one day, of one team, at prices of one currency.

    Attributes:
        gpu_ms: share-weighted milliseconds.
        raw: milliseconds x rate per GPU-hour, exact; divide by 3,600,000 for the amount.
        unpriced_ms: of `gpu_ms`, without a price.
        raw_low: the least that `raw` may be; None if it is exact.
        ledger_ms, ledger_raw: the part that is idle or free time of the ledger and in no other
            finding, and its money at what teams are charged; 0 where findings overlap.
    """

    gpu_ms: int = 0
    raw: Fraction = Fraction(0)
    unpriced_ms: int = 0
    raw_low: Fraction | None = None
    ledger_ms: int = 0
    ledger_raw: Fraction = Fraction(0)

    def __add__(self, other: "Slice") -> "Slice":
        """Both together; of ranges the most is added, as `raw` is."""
        return Slice(
            self.gpu_ms + other.gpu_ms,
            self.raw + other.raw,
            self.unpriced_ms + other.unpriced_ms,
            None,
            self.ledger_ms + other.ledger_ms,
            self.ledger_raw + other.ledger_raw,
        )

    def of_ledger(self, amount_ms: int, rate: Decimal | None) -> None:
        """Add idle or free time at a rate per GPU-hour; None without a price."""
        self.ledger_ms += amount_ms
        if rate is not None:
            self.ledger_raw += raw_of(amount_ms, rate)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        subject: number of the pod; of the node for free time.
        start_ms, end_ms: the first and the last instant of what it took.
        evidence: what the rule compared, as texts and numbers.
    """

    rule: WasteRule
    subject: int
    start_ms: int
    end_ms: int
    slices: Mapping[SliceKey, Slice]
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gpu_ms(self) -> int:
        """All of its time."""
        return sum(one.gpu_ms for one in self.slices.values())

    @property
    def raw(self) -> Fraction:
        """The money of all of its time that has a price; only sensible in one currency."""
        return sum((one.raw for one in self.slices.values()), Fraction(0))
