"""What could be saved, from the findings of four weeks (scheduling.md "Recommendations")."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from scheduler_view.savings.rules.finding import WasteRule

MONTH_DAYS = 30
WEEKS, WEEK_DAYS = 4, 7
PARTS = 420  # of a day: the least number that every count of days of a week divides
LEAST_WEEK_DAYS = 4  # measured days of a week that is compared with others
STEADY = 10  # times the least wasteful week: above, no saving of a month is claimed
LEAST_DAYS_AFTER = 7  # measured days after a decision, for a measured saving
DAY_MS = 86_400_000


class Confidence(StrEnum):
    """How regular the findings are: in how many of the last four weeks."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Effort(StrEnum):
    """How much has to be done."""

    SMALL = "small"  # end or release something
    MEDIUM = "medium"  # change a request or a queue


EFFORTS = {
    WasteRule.NEVER_BUSY: Effort.SMALL,
    WasteRule.TAIL: Effort.SMALL,
    WasteRule.IDLE: Effort.SMALL,
    WasteRule.TOO_LONG: Effort.SMALL,
    WasteRule.IDLE_GPUS: Effort.MEDIUM,
    WasteRule.GANG: Effort.MEDIUM,
    WasteRule.KEPT_NODE: Effort.MEDIUM,
    WasteRule.SPOT: Effort.MEDIUM,
    WasteRule.RIGHT_SIZE: Effort.MEDIUM,
}
"""Rules that lead to a recommendation; the others claim no saving."""

LOWERS_QUOTA = frozenset({WasteRule.NEVER_BUSY, WasteRule.IDLE, WasteRule.IDLE_GPUS})
"""Rules whose GPUs a smaller quota would leave to others."""


@dataclass(frozen=True, slots=True)
class WeekWaste:
    """The findings of one rule about one unit in one week.

    Attributes:
        days: measured days of the week.
        gpu_ms, raw: as of findings.
        raw_low: the least that `raw` may be.
    """

    days: int
    gpu_ms: int
    raw: Decimal
    raw_low: Decimal


NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Saving:
    """What a month could save: raw money, in the least and the most wasteful week.

    Attributes:
        gpus: that were wasted on average over the measured days.
        is_steady: False if the weeks differ too much to represent a month.
        found, measured: weeks with findings, and weeks that are compared.
        days: measured ones of the weeks that are compared.
    """

    low: Fraction
    high: Fraction
    gpus: Fraction
    confidence: Confidence
    is_steady: bool
    found: int
    measured: int
    days: int

    @property
    def is_of_few_days(self) -> bool:
        """True if a week is all that a month is claimed from, or less."""
        return self.days <= WEEK_DAYS


def saving_of(weeks: Sequence[WeekWaste]) -> Saving | None:
    """The saving of a month of 30 days; None without a measured day with findings.

    Weeks with fewer than four measured days are left out, if another has as many; measured ones
    without findings count as 0.
    """
    measured = _compared(weeks)
    found = sum(1 for week in measured if week.gpu_ms)
    if not found:
        return None
    least = min(week.raw_low * (PARTS // week.days) for week in measured)
    most = max(week.raw * (PARTS // week.days) for week in measured)
    days = sum(week.days for week in measured)
    gpus = Fraction(sum(week.gpu_ms for week in measured), days * DAY_MS)
    confidence = Confidence.LOW if found == 1 else Confidence.MEDIUM
    if found == WEEKS:
        confidence = Confidence.HIGH
    low, high = (Fraction(each) * MONTH_DAYS / PARTS for each in (least, most))
    is_steady = most <= least * STEADY
    return Saving(low, high, gpus, confidence, is_steady, found, len(measured), days)


def has_findings(weeks: Sequence[WeekWaste]) -> bool:
    """Whether `saving_of` the same weeks has a saving."""
    return any(week.gpu_ms for week in _compared(weeks))


def _compared(weeks: Sequence[WeekWaste]) -> list[WeekWaste]:
    measured = [week for week in weeks if week.days >= LEAST_WEEK_DAYS]
    return measured or [week for week in weeks if week.days]


def is_current(weeks: Sequence[WeekWaste]) -> bool:
    """Whether the newest measured week has findings; weeks are newest first."""
    return next((week.gpu_ms > 0 for week in weeks if week.days), False)


def weeks_together(parts: Sequence[Sequence[WeekWaste]]) -> list[WeekWaste]:
    """The findings of several units of one cluster, week by week."""
    return [
        WeekWaste(
            weeks[0].days,
            sum(week.gpu_ms for week in weeks),
            sum((week.raw for week in weeks), NONE),
            sum((week.raw_low for week in weeks), NONE),
        )
        for weeks in zip(*parts, strict=True)
    ]


def measured_saving(
    before_per_day: Decimal, after_raw: Decimal, after_days: int
) -> Fraction | None:
    """The saving of a month since a decision, negative if more is wasted.

    None until seven days after it are measured.
    """
    if after_days < LEAST_DAYS_AFTER:
        return None
    return (Fraction(before_per_day) - Fraction(after_raw) / after_days) * MONTH_DAYS


def smaller_quota(gpus: int, wasted: Fraction) -> int | None:
    """A quota without the GPUs that were wasted on average; None if it would not be smaller."""
    spare = int(wasted)
    return gpus - spare if 0 < spare < gpus else None
