"""The rows of Explore as a page shows them: names, links, changes, and what is on other pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from accounting.access.reads.teams import TeamRef, team_named
from accounting.core.billing_calendar import DAY, WEEK, DayRange, unit_later
from accounting.core.interval import HOUR_MS
from accounting.core.money import Money
from accounting.core.money_text import MINUS
from accounting.core.unmapped import UNMAPPED
from accounting.explore.pages.explore_state import ExploreState
from accounting.explore.reads.table import ExploreRow, ExploreTable, teams_of
from accounting.explore.rules import ExploreMeasure
from accounting.kit.charts.bars import BarPart
from accounting.kit.family_address import family_url
from accounting.kit.pages.filters import value_label, written
from accounting.kit.pages.paging import ListPage, paged
from accounting.kit.reads.dimensions import Dimension
from accounting.kit.run_address import run_url
from accounting.kit.tags import units
from accounting.usage.pages.shapes import held_parts, held_text
from accounting.usage.reads.breakdown import row_name
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import total_of


@dataclass(frozen=True, slots=True)
class ExploreName:
    """The value of one grouping.

    Attributes:
        text, sub: its name, and what it is in.
        url: the page with this value alone; "" if it has only this one.
        page_url: of the family or run; "" for others, and for one without a page.
        not_url: the page without it; "" for time.
    """

    text: str
    sub: str
    slot: int
    url: str
    not_url: str
    page_url: str = ""


@dataclass(frozen=True, slots=True)
class ExploreLine:
    """One row of the table, or several together."""

    names: tuple[ExploreName, ...]
    row: UsageRow
    change: str
    largest_ms: int

    @property
    def parts(self) -> tuple[BarPart, ...]:
        """The bar of its held time."""
        return held_parts(self.row, self.largest_ms)

    @property
    def text(self) -> str:
        """That bar as a sentence."""
        return held_text(self.row)


@dataclass(frozen=True, slots=True)
class ExploreLines:
    """A page of the table, which comes to its total.

    Attributes:
        rest: the rows of other pages together, `rest_count` of them.
        rounding, rounding_change: what the totals are more than the rows; "" if nothing.
        total_change: of the totals.
    """

    page: ListPage
    rest: ExploreLine | None
    rest_count: int
    rounding: Mapping[str, Money | None]
    rounding_change: str
    total: UsageRow
    total_change: str
    has_changes: bool


def lines_of(state: ExploreState, table: ExploreTable) -> ExploreLines:
    """The rows of the page in the address; time first in its order, else the largest first."""
    measure = state.measure
    found = table.sorted_by(measure)
    if state.by[0] == state.time:
        found.sort(key=lambda row: row.key[state.time])
    page = paged(found, state.query)
    others = [*found[: page.first - 1], *found[page.last :]] if page.pages > 1 else []
    shown = found[page.first - 1 : page.last]
    teams = {
        one.name: teams_of(state.selection_of(), one, shown)
        for one in state.listed
        if shown and one.name in ("family", "workload")
    }
    largest = max((row.now.allocated_ms for row in found), default=0)
    rounding = {
        "charge": table.now.rounding.charge,
        "idle_charge": table.now.rounding.idle_charge,
    }
    total = before_total = ""
    if table.before is not None:
        total = change_text(state, table.now.total, table.before.total)
        before_total = _rounding_change(state, table) if table.has_changes else ""
    return ExploreLines(
        page.drawn(lambda row: _line(state, row, largest, teams)),
        _together(state, others, largest) if others else None,
        len(others),
        rounding,
        before_total,
        table.now.total,
        total,
        table.has_changes,
    )


def _line(
    state: ExploreState,
    row: ExploreRow,
    largest: int,
    teams: Mapping[str, Mapping[str, str]],
) -> ExploreLine:
    change = "" if row.before is None else change_text(state, row.now, row.before)
    names = []
    for one in state.listed:
        team = teams.get(one.name, {}).get(row_name(row.now, one.name), "")
        url = _page_url(one, row.key, team)
        name = name_of(one, row.key, state)
        names.append(replace(name, page_url=state.link(url) if url else ""))
    return ExploreLine(tuple(names), row.now, change, largest)


def _page_url(of: Dimension, key: Mapping[str, str], team: str) -> str:
    """The page of a family or run of a team; "" without one, as without a team."""
    if team in ("", UNMAPPED):
        return ""
    if of.name == "family":
        return family_url(team, key["namespace"], key["family"])
    return run_url(team, key["namespace"], key["workload_kind"], key["workload"])


def _together(
    state: ExploreState, rows: Sequence[ExploreRow], largest: int
) -> ExploreLine:
    now = total_of([row.now for row in rows])
    before = [row.before for row in rows if row.before is not None]
    change = change_text(state, now, total_of(before)) if before else ""
    return ExploreLine((), now, change, largest)


def change_text(state: ExploreState, now: UsageRow, before: UsageRow) -> str:
    """What a figure is more than before, in a form that can be added; "" where one has none."""
    measure = state.measure
    new, old = measure.of(now), measure.of(before)
    if new is None or old is None or now.currencies or before.currencies:
        return ""
    return _more(measure, new - old, state.currency)


def _more(measure: ExploreMeasure, difference: Decimal, currency: str) -> str:
    if measure.is_money:
        return units.money_more(difference, currency)
    if measure.is_share:
        points = difference * 100
        sign = "+" if points > 0 else MINUS if points < 0 else ""
        return f"{sign}{abs(points):.1f} pts"
    sign = "+" if difference > 0 else MINUS if difference < 0 else ""
    return f"{sign}{units.gpu_hours(int(abs(difference) * HOUR_MS))}"


def _rounding_change(state: ExploreState, table: ExploreTable) -> str:
    """What the change of the total is more than those of the rows."""
    measure = state.measure
    if not measure.is_money or table.before is None:
        return ""
    now = getattr(table.now.rounding, measure.field)
    then = getattr(table.before.rounding, measure.field)
    left = (now.amount if now else Decimal(0)) - (then.amount if then else Decimal(0))
    return units.money_more(left, state.currency) if left else ""


def name_of(of: Dimension, key: Mapping[str, str], state: ExploreState) -> ExploreName:
    """A value with its links."""
    value = key[of.name]
    if of.name in ("day", "week", "month"):
        days = days_of_step(of.name, value, state.days)
        return ExploreName(units.days(days), "", 0, state.range_url(days), "")
    pairs = {
        one.name: written(key[one.name])
        for one in of.keys
        if one.name in (of.name, "namespace")
    }
    slot = team_named(state.teams, value).slot if of.name == "team" else 0
    return ExploreName(
        label_of(of, value, state.teams),
        _inside(of, key, state),
        slot,
        state.adding(pairs),
        state.adding({of.name: written(value)}, excluded=True),
    )


def _inside(of: Dimension, key: Mapping[str, str], state: ExploreState) -> str:
    """The namespace of a family or workload, where no column has it."""
    has_column = "namespace" in state.rows_by
    return (
        key["namespace"] if of.name in ("family", "workload") and not has_column else ""
    )


def label_of(of: Dimension, value: str, teams: Mapping[str, TeamRef]) -> str:
    """A value of a grouping as text."""
    if of.name == "model":
        return units.short_model(value)
    return value_label(of.name, value, teams) or f"No {of.label.lower()}"


def days_of_step(step: str, value: str, within: DayRange) -> DayRange:
    """The days of a day, week or month that are in a range."""
    first = date.fromisoformat(f"{value}-01" if step == "month" else value)
    after = first + (DAY if step == "day" else WEEK)
    if step == "month":
        after = unit_later(first, "month", 1)
    return DayRange(max(first, within.first), min(after, within.after))
