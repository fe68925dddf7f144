"""A recommendation, and those about work of one family."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from accounting.kit.rows import Moment, TextOrNull, column, derived, listed
from scheduler_view.savings.models import RecommendationState
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.rules.recommend import (
    Confidence,
    Effort,
    WeekWaste,
)

Each = TypeVar("Each")
Subject = tuple[int, str, int, int, int]  # cluster, rule, team, workload, node; 0: none


@listed("RecommendationRow")
class RecommendationRow:
    """What a month could save at one work unit or node, and what was decided about it.

    Attributes:
        subject: identifies it in forms.
        row: its findings in the week in which it was found last.
        low, high: what a month could save, in the least and most wasteful week; None without a
            price.
        saved: what a month saves since the decision; None until a week of it is measured.
        weeks: its findings by week, newest first.
        is_steady: its weeks are alike enough to claim a saving of a month.
        measured_days: of the weeks that are compared; a month is as many as 30 of them.
        quota, smaller: the team's quota and what it could be; None where that makes no sense.
        quota_version: of the quota.
    """

    rule = derived(str, "row.rule")
    cluster = derived(str, "row.cluster")
    team = derived(TextOrNull, "row.team", "null for free time of a node")
    namespace = derived(TextOrNull, "row.namespace")
    workload_kind = derived(TextOrNull, "row.kind")
    workload = derived(TextOrNull, "row.workload")
    node = derived(TextOrNull, "row.node")
    advice: str = column()
    low: Decimal | None = column("of a month; null without a price", name="saving_low")
    high: Decimal | None = column(name="saving_high")
    currency = derived(TextOrNull, "row.currency")
    confidence: str = column(choices=Confidence)
    effort: str = column(choices=Effort)
    state: str = column(
        "open, accepted, dismissed or done", default=RecommendationState.OPEN
    )
    owner: TextOrNull = column(default="")
    reason: TextOrNull = column(default="")
    decided_at: Moment | None = column(default=None)
    saved: Decimal | None = column(
        "of a month, measured since the decision; null in its first week", default=None
    )
    quota: int | None = column(default=None)
    smaller: int | None = column(name="smaller_quota", default=None)
    is_steady: bool = column(
        "false if its weeks differ too much to claim a saving of a month", default=True
    )
    measured_days: int = column(
        "that the saving is scaled to a month of 30 days from", default=0
    )
    subject: Subject
    row: WasteRow
    gpus: Fraction
    weeks: tuple[WeekWaste, ...] = ()
    quota_version: int = 0

    @property
    def token(self) -> str:
        """The subject as text."""
        return ":".join(map(str, self.subject))

    @property
    def raw_per_day(self) -> Decimal:
        """What was wasted a measured day, as decisions keep it: six places."""
        raw = sum((week.raw for week in self.weeks), Decimal(0))
        days = sum(week.days for week in self.weeks)
        return (raw / days).quantize(Decimal("0.000001"))

    @property
    def is_open(self) -> bool:
        """True if nobody has decided yet."""
        return self.state == RecommendationState.OPEN


@dataclass(frozen=True, slots=True)
class Found:
    """The findings of one rule about one work unit or node, in one currency.

    Attributes:
        row: in the week in which it was found last.
        weeks: of each, newest first.
    """

    subject: Subject
    row: WasteRow
    weeks: tuple[WeekWaste, ...]


def families_found(found: Iterable[Found]) -> list[list[Found]]:
    """Of one rule and currency about work of one family, in their order."""
    return _grouped(found, lambda one: _family(one.subject, one.row))


def families(
    rows: Iterable[RecommendationRow],
) -> list[list[RecommendationRow]]:
    """Rows of one rule, state and currency about work of one family, in their order."""
    return _grouped(rows, lambda one: (*_family(one.subject, one.row), one.state))


def _family(subject: Subject, row: WasteRow) -> tuple[Hashable, ...]:
    return (*subject[:3], subject[4], row.namespace, row.family, row.currency)


def _grouped(
    rows: Iterable[Each], key_of: Callable[[Each], Hashable]
) -> list[list[Each]]:
    found: dict[Hashable, list[Each]] = {}
    for one in rows:
        found.setdefault(key_of(one), []).append(one)
    return list(found.values())
