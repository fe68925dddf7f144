"""A recommendation, and those about work of one family."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from scheduler_view.domain.waste.recommend import WeekWaste
from scheduler_view.models import RecommendationState
from scheduler_view.queries.waste.row import WasteRow

Subject = tuple[int, str, int, int, int]  # cluster, rule, team, workload, node; 0: none


@dataclass(frozen=True, slots=True)
class RecommendationRow:
    """What could be saved at one work unit or node, and what was decided.

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

    subject: Subject
    row: WasteRow
    low: Decimal | None
    high: Decimal | None
    gpus: Fraction
    confidence: str
    effort: str
    advice: str
    raw_per_day: Decimal
    weeks: tuple[WeekWaste, ...] = ()
    is_steady: bool = True
    measured_days: int = 0
    state: str = RecommendationState.OPEN
    owner: str = ""
    reason: str = ""
    decided_at: datetime | None = None
    saved: Decimal | None = None
    quota: int | None = None
    smaller: int | None = None
    quota_version: int = 0

    @property
    def token(self) -> str:
        """The subject as text."""
        return ":".join(map(str, self.subject))

    @property
    def is_open(self) -> bool:
        """True if nobody has decided yet."""
        return self.state == RecommendationState.OPEN


def families(
    rows: Iterable[RecommendationRow],
) -> list[list[RecommendationRow]]:
    """Rows of one rule, state and currency about work of one family, in their order."""
    found: dict[tuple[object, ...], list[RecommendationRow]] = {}
    for one in rows:
        key = (
            *(one.subject[:3], one.subject[4], one.row.namespace, one.row.family),
            *(one.state, one.row.currency),
        )
        found.setdefault(key, []).append(one)
    return list(found.values())
