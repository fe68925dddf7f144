"""Teams with what they held and were charged: sorted, by department, the largest, or in pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from accounting.access.reads.teams import TeamRef, team_named
from accounting.core.money import amount_of
from accounting.kit.charts.bars import BarPart
from accounting.kit.pages.paging import ListPage, paged
from accounting.usage.pages.shapes import held_parts, held_text
from accounting.usage.pages.tables import Sorter, Teams, ordered
from accounting.usage.reads.breakdown import Breakdown, Sides
from accounting.usage.rules.comparison import Comparison, average_gpus
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import Rounding, rounding_of, total_of

LISTED = 10  # teams on the overview; the list of teams has all
NO_DEPARTMENT = "No department"


@dataclass(frozen=True, slots=True)
class TeamLine:
    """One team in a list, or the sum of several; what only a drawn row needs is computed late.

    Attributes:
        key: the name of the team in addresses; "" for several.
        is_new: not in the previous period.
        average: average GPUs; None if nothing had data.
        largest_ms: held time whose bar has the full width.
    """

    key: str
    name: str
    department: str
    slot: int
    has_page: bool
    row: UsageRow
    change: Comparison | None
    is_new: bool
    average: float | None
    largest_ms: int = 0

    @property
    def url(self) -> str:
        """The page of the team; "" for unmapped usage and for several teams."""
        return reverse("team", args=[self.key]) if self.has_page else ""

    @property
    def parts(self) -> tuple[BarPart, ...]:
        """The bar of its held time."""
        return held_parts(self.row, self.largest_ms)

    @property
    def text(self) -> str:
        """That bar as a sentence."""
        return held_text(self.row)


@dataclass(frozen=True, slots=True)
class Department:
    """A group of teams, with its totals; `head` is a row like theirs.

    Attributes:
        lines: its teams that are shown, of `count`.
    """

    head: TeamLine
    lines: tuple[TeamLine, ...]
    count: int


@dataclass(frozen=True, slots=True)
class TeamTable:
    """Teams with their total; `departments` only if requested.

    Attributes:
        lines: the teams that are shown.
        rounding: what the total is more than all teams, which are rounded one by one.
        rest: the sum of the teams that are not shown, `rest_count` of them.
        page: the part of all teams that `lines` is, if they have pages.
    """

    lines: tuple[TeamLine, ...]
    rounding: Rounding
    total: UsageRow
    change: Comparison | None
    departments: tuple[Department, ...] = ()
    rest: TeamLine | None = None
    rest_count: int = 0
    page: ListPage | None = None


def team_lines(
    found: Breakdown, teams: Teams, sides: Sides | None, length_ms: int
) -> tuple[TeamLine, ...]:
    """A row for each row of a breakdown by team, in its order."""
    largest = max((row.allocated_ms for row in found.rows), default=0)
    return tuple(
        _line(row, team_named(teams, row.key["team"]), found, sides, length_ms, largest)
        for row in found.rows
    )


def _line(  # one parameter for each source of its columns
    row: UsageRow,
    team: TeamRef,
    found: Breakdown,
    sides: Sides | None,
    length_ms: int,
    largest_ms: int,
) -> TeamLine:
    before = found.before.get(row.key["team"])
    return TeamLine(
        key=row.key["team"],
        name=team.name,
        department=team.department,
        slot=team.slot,
        has_page=bool(team.id),
        row=row,
        change=sides.change(before, row, "charge") if sides and before else None,
        is_new=before is None,
        average=average_gpus(row.allocated_ms, length_ms),
        largest_ms=largest_ms,
    )


TEAM_COLUMNS: dict[str, Sorter] = {
    "team": lambda line: line.name.lower(),
    "charge": lambda line: amount_of(line.row.charge),
    "change": lambda line: line.change.difference if line.change else None,
    "allocated": lambda line: line.row.allocated_ms,
    "efficiency": lambda line: line.row.efficiency,
    "coverage": lambda line: line.row.coverage,
    "idle": lambda line: line.row.idle_ms,
    "idle_charge": lambda line: amount_of(line.row.idle_charge),
}


def team_table(lines: Sequence[TeamLine], found: Breakdown, sort: str) -> TeamTable:
    """Rows sorted as in the address; the total is below them."""
    return TeamTable(
        lines=tuple(ordered(lines, sort, TEAM_COLUMNS, "-charge")),
        rounding=rounding_of([line.row for line in lines], found.summary.total),
        total=found.summary.total,
        change=found.summary.charge,
    )


def largest_teams(
    lines: Sequence[TeamLine], found: Breakdown, sides: Sides | None, sort: str
) -> TeamTable:
    """The first rows of a table, and one for all others; others that are one row are that row."""
    table = team_table(lines, found, sort)
    if len(table.lines) <= LISTED + 1:
        return table
    rest = table.lines[LISTED:]
    return replace(
        table,
        lines=table.lines[:LISTED],
        rest=_together(rest, "", found, sides),
        rest_count=len(rest),
    )


def on_page(table: TeamTable, query: Mapping[str, Any]) -> TeamTable:
    """The page of a table in the address; a department may begin on one and end on the next."""
    in_groups = [line for group in table.departments for line in group.lines]
    page = paged(in_groups or table.lines, query)
    shown = {line.key for line in page.lines}
    groups = [
        replace(group, lines=tuple(one for one in group.lines if one.key in shown))
        for group in table.departments
    ]
    return replace(
        table,
        lines=page.lines,
        departments=tuple(group for group in groups if group.lines),
        page=page,
    )


def by_department(
    table: TeamTable, found: Breakdown, sides: Sides | None, sort: str
) -> TeamTable:
    """The same table with a subtotal for each department, sorted by the same column.

    With fewer than two departments nothing is grouped.
    """
    of_name: dict[str, list[TeamLine]] = {}
    for line in table.lines:
        of_name.setdefault(line.department, []).append(line)
    if len(of_name) < 2:
        return table
    groups = {
        name: Department(
            _together(of_one, name, found, sides), tuple(of_one), len(of_one)
        )
        for name, of_one in of_name.items()
    }
    heads = [group.head for group in groups.values()]
    in_order = ordered(heads, sort, TEAM_COLUMNS, "-charge")
    departments = tuple(groups[head.department] for head in in_order)
    return replace(table, departments=departments)


def _together(
    lines: Sequence[TeamLine], department: str, found: Breakdown, sides: Sides | None
) -> TeamLine:
    total = total_of([line.row for line in lines])
    earlier = [found.before[line.key] for line in lines if line.key in found.before]
    change = None
    if sides is not None and earlier:
        change = sides.change(total_of(earlier), total, "charge")
    averages = [line.average for line in lines if line.average is not None]
    return TeamLine(
        key="",
        name=department or NO_DEPARTMENT,
        department=department,
        slot=0,
        has_page=False,
        row=total,
        change=change,
        is_new=not earlier,
        average=sum(averages) if averages else None,
    )


def quiet_teams(lines: Sequence[TeamLine], teams: Teams) -> list[TeamRef]:
    """Teams without held time in the range."""
    seen = {line.key for line in lines}
    return [team for slug, team in teams.items() if slug not in seen]
