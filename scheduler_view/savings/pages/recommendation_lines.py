"""Lines of the page of recommendations: families of work, and a folded rest."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounting.core.money import Money
from accounting.kit.charts.bars import BarPart, bar_parts
from accounting.prices.rules.charge import charge_of
from scheduler_view.savings.models import RecommendationState
from scheduler_view.savings.reads.recommendation_row import RecommendationRow, families
from scheduler_view.savings.rules.recommend import (
    Confidence,
    Saving,
    saving_of,
    weeks_together,
)
from scheduler_view.savings.rules.wording import OVERLAPPING, rule_text

MEASURED = (RecommendationState.ACCEPTED, RecommendationState.DONE)
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

    def parts(self, largest: Decimal) -> tuple[BarPart, ...]:
        """What it saves for certain, and what it may, on the scale of the largest line."""
        low, high = self.low or Decimal(0), self.high or Decimal(0)
        return bar_parts({"action": low, "explained": high - low}, largest)

    @property
    def rule(self) -> str:
        """The title of its rule."""
        return rule_text(self.one.row.rule).title

    @property
    def tone(self) -> str:
        """Of the badge of its confidence."""
        return {Confidence.HIGH: "ok", Confidence.MEDIUM: "mute"}.get(
            self.saving.confidence, "warn"
        )

    @property
    def is_claimed(self) -> bool:
        """Whether it saves money that no other line saves."""
        return (
            self.high is not None
            and self.saving.is_steady
            and self.one.row.rule not in OVERLAPPING
        )

    @property
    def is_folded(self) -> bool:
        """Whether it saves little."""
        return self.high is not None and self.high < LEAST


@dataclass(frozen=True, slots=True)
class Total:
    """What the changes of a page save in a month, in one currency.

    Attributes:
        lines: those that are summed, largest first.
        low, high: what they save in their least and their most wasteful week.
    """

    lines: Sequence[FamilyLine]
    low: Money
    high: Money

    @property
    def largest(self) -> FamilyLine:
        """The line that may save most."""
        return self.lines[0]

    @property
    def share(self) -> float | None:
        """Of the largest line in what all may save."""
        top = self.largest.high
        return float(top / self.high.amount) if top and self.high.amount else None


def totals(lines: Iterable[FamilyLine]) -> list[Total]:
    """The sums of the lines whose savings do not overlap, by currency."""
    by_currency: dict[str, list[FamilyLine]] = {}
    for line in lines:
        if line.is_claimed:
            by_currency.setdefault(line.one.row.currency, []).append(line)
    return [
        Total(
            found,
            Money(
                sum((line.low or Decimal(0) for line in found), Decimal(0)), currency
            ),
            Money(
                sum((line.high or Decimal(0) for line in found), Decimal(0)), currency
            ),
        )
        for currency, found in by_currency.items()
    ]


def teams_of(lines: Iterable[FamilyLine]) -> list[tuple[str, str, int]]:
    """Slug and name of each team with lines, and how many; most first."""
    counts = Counter(
        (line.one.row.team, line.one.row.team_name)
        for line in lines
        if line.one.row.team
    )
    return [(slug, name, count) for (slug, name), count in counts.most_common()]


def saved(rows: Iterable[RecommendationRow]) -> list[Money]:
    """What decided changes save in a month, as measured; by currency."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        if row.saved is not None and row.state in MEASURED:
            sums[row.row.currency] = sums.get(row.row.currency, Decimal(0)) + row.saved
    return [Money(amount, currency) for currency, amount in sums.items()]


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
