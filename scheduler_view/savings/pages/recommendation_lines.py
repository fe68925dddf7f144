"""Lines of the page of recommendations: families of work, and a folded rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounting.prices.rules.charge import charge_of
from scheduler_view.savings.reads.recommendation_row import RecommendationRow, families
from scheduler_view.savings.rules.recommend import Saving, saving_of, weeks_together

LEAST = Decimal(50)  # a month, in the currency of the row: smaller ones are folded


@dataclass(frozen=True, slots=True)
class FamilyLine:
    """One family of work with one recommendation.

    Attributes:
        one: its largest row, for what all have.
        saving: of a month, of all its rows together.
        low, high: the same in money; None without a price.
    """

    rows: Sequence[RecommendationRow]
    saving: Saving
    low: Decimal | None
    high: Decimal | None

    @property
    def one(self) -> RecommendationRow:
        """The largest row."""
        return self.rows[0]

    @property
    def name(self) -> str:
        """`video-model`, or the name of its only work or node."""
        row = self.one.row
        if len(self.rows) == 1:
            return row.workload or row.node
        return row.family

    @property
    def tokens(self) -> list[str]:
        """The subjects of its rows, for forms."""
        return [row.token for row in self.rows]

    @property
    def is_folded(self) -> bool:
        """Whether it saves little."""
        return self.high is not None and self.high < LEAST


def family_lines(rows: Iterable[RecommendationRow], places: int) -> list[FamilyLine]:
    """Families, those of which a saving is claimed first, largest first."""
    found = [
        line for family in families(rows) if (line := _line(family, places)) is not None
    ]
    return sorted(
        found,
        key=lambda one: (
            *(one.high is None, not one.saving.is_steady),
            -(one.high or Decimal(0)),
        ),
    )


def _line(rows: Sequence[RecommendationRow], places: int) -> FamilyLine | None:
    saving = saving_of(weeks_together([row.weeks for row in rows]))
    if saving is None:
        return None
    if rows[0].high is None:
        return FamilyLine(rows, saving, None, None)
    low, high = charge_of(saving.low, places), charge_of(saving.high, places)
    return FamilyLine(rows, saving, low, high)
