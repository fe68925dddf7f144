"""Rows of tables: report rows with names, colors and addresses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from accounting.charts.bars import BarPart
from accounting.domain.core.money import amount_of
from accounting.domain.reports.comparison import Comparison, average_gpus
from accounting.domain.reports.rows import UsageRow
from accounting.domain.reports.totals import (
    Rounding,
    rounded_table,
    rounding_of,
    total_of,
)
from accounting.queries.teams.teams import TeamRef, team_named
from accounting.queries.usage.breakdown import Breakdown, Mover, Sides
from accounting.web.shapes import held_parts, held_text

Teams = Mapping[str, TeamRef]


@dataclass(frozen=True, slots=True)
class TeamLine:
    """One team in a list; `key` is its name in addresses."""

    key: str
    name: str
    department: str
    slot: int
    url: str
    row: UsageRow
    change: Comparison | None
    is_new: bool  # not in the previous period
    average: float | None
    parts: tuple[BarPart, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Department:
    """A group of teams, with its totals; `head` is a row like theirs."""

    head: TeamLine
    lines: tuple[TeamLine, ...]


@dataclass(frozen=True, slots=True)
class TeamTable:
    """Teams with their total; `departments` only if requested.

    Attributes:
        rounding: what the total is more than the teams, which are rounded one by one.
    """

    lines: tuple[TeamLine, ...]
    rounding: Rounding
    total: UsageRow
    change: Comparison | None
    departments: tuple[Department, ...] = ()


def team_url(team: TeamRef) -> str:
    """The page of a team; empty for unmapped usage."""
    return reverse("team", args=[team.slug]) if team.id else ""


def team_lines(
    found: Breakdown, teams: Teams, sides: Sides | None, length_ms: int
) -> tuple[TeamLine, ...]:
    """A row for each row of a breakdown by team, in its order."""
    largest = max((row.allocated_ms for row in found.rows), default=0)
    lines = []
    for row in found.rows:
        team = team_named(teams, row.key["team"])
        before = found.before.get(row.key["team"])
        lines.append(
            TeamLine(
                key=row.key["team"],
                name=team.name,
                department=team.department,
                slot=team.slot,
                url=team_url(team),
                row=row,
                change=sides.change(before, row, "charge")
                if sides and before
                else None,
                is_new=before is None,
                average=average_gpus(row.allocated_ms, length_ms),
                parts=held_parts(row, largest),
                text=held_text(row),
            )
        )
    return tuple(lines)


def team_table(lines: Sequence[TeamLine], found: Breakdown, sort: str) -> TeamTable:
    """Rows sorted as in the address; the total is below them."""
    return TeamTable(
        lines=tuple(ordered(lines, sort, TEAM_COLUMNS, "-charge")),
        rounding=rounding_of([line.row for line in lines], found.summary.total),
        total=found.summary.total,
        change=found.summary.charge,
    )


NO_DEPARTMENT = "No department"


def by_department(
    table: TeamTable, found: Breakdown, sides: Sides | None, sort: str
) -> TeamTable:
    """The same table with a subtotal for each department, sorted by the same column.

    With fewer than two departments nothing is grouped.
    """
    names = dict.fromkeys(line.department for line in table.lines)
    if len(names) < 2:
        return table
    groups = [
        _department(
            name, [x for x in table.lines if x.department == name], found, sides
        )
        for name in names
    ]
    in_order = ordered([g.head for g in groups], sort, TEAM_COLUMNS, "-charge")
    heads = [head.name for head in in_order]
    groups.sort(key=lambda group: heads.index(group.head.name))
    return replace(table, departments=tuple(groups))


def _department(
    name: str, lines: Sequence[TeamLine], found: Breakdown, sides: Sides | None
) -> Department:
    total = total_of([line.row for line in lines])
    earlier = [found.before[line.key] for line in lines if line.key in found.before]
    change = None
    if sides is not None and earlier:
        change = sides.change(total_of(earlier), total, "charge")
    averages = [line.average for line in lines if line.average is not None]
    head = TeamLine(
        key="",
        name=name or NO_DEPARTMENT,
        department=name,
        slot=0,
        url="",
        row=total,
        change=change,
        is_new=not earlier,
        average=sum(averages) if averages else None,
        parts=(),
        text="",
    )
    return Department(head, tuple(lines))


Sorter = Callable[[Any], Any]
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


def ordered(
    lines: Sequence[Any], sort: str, columns: Mapping[str, Sorter], default: str
) -> list[Any]:
    """Rows by a column, `-` for descending; missing values are always last."""
    chosen = sort if sort.lstrip("-") in columns else default
    pick = columns[chosen.lstrip("-")]
    known = [line for line in lines if pick(line) is not None]
    missing = [line for line in lines if pick(line) is None]
    return sorted(known, key=pick, reverse=chosen.startswith("-")) + missing


@dataclass(frozen=True, slots=True)
class WorkloadLine:
    """One workload in a list."""

    team: str
    key: str
    slot: int
    url: str
    namespace: str
    workload: str
    kind: str
    model: str
    row: UsageRow

    @property
    def open_key(self) -> str:
        """The value of `?open=` that shows its pods."""
        return f"{self.namespace}/{self.kind}/{self.workload}/{self.model}"


def workload_lines(rows: Sequence[UsageRow], teams: Teams) -> list[WorkloadLine]:
    """A line for each row by team and workload (and model, if requested)."""
    lines = []
    for row in rows:
        team = team_named(teams, row.key["team"])
        lines.append(
            WorkloadLine(
                team=team.name,
                key=row.key["team"],
                slot=team.slot,
                url=team_url(team),
                namespace=row.key["namespace"],
                workload=row.key["workload"],
                kind=row.key.get("workload_kind", ""),
                model=row.key.get("model", ""),
                row=row,
            )
        )
    return lines


WORKLOAD_COLUMNS: dict[str, Sorter] = {
    "workload": lambda line: (line.workload.lower(), line.namespace),
    "kind": lambda line: line.kind,
    "model": lambda line: line.model,
    "charge": lambda line: amount_of(line.row.charge),
    "allocated": lambda line: line.row.allocated_ms,
    "efficiency": lambda line: line.row.efficiency,
    "coverage": lambda line: line.row.coverage,
    "idle": lambda line: line.row.idle_ms,
    "idle_charge": lambda line: amount_of(line.row.idle_charge),
    "sm": lambda line: line.row.hard.sm_active,
    "tensor": lambda line: line.row.hard.tensor_active,
    "dram": lambda line: line.row.hard.dram_active,
    "memory": lambda line: line.row.hard.peak_memory_bytes,
    "energy": lambda line: line.row.hard.energy_joules,
}


def idle_only(rows: Sequence[UsageRow]) -> list[UsageRow]:
    """The rows with idle time."""
    return [row for row in rows if row.idle_ms]


@dataclass(frozen=True, slots=True)
class MoverLine:
    """A workload whose charge changed, with its team's name and color."""

    team: str
    slot: int
    url: str
    workload: str
    change: Comparison


def mover_lines(found: Sequence[Mover], teams: Teams) -> list[MoverLine]:
    """Movers with the names of their teams."""
    return [
        MoverLine(
            team_named(teams, mover.team).name,
            team_named(teams, mover.team).slot,
            team_url(team_named(teams, mover.team)),
            mover.workload,
            mover.change,
        )
        for mover in found
    ]


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """Workloads with their total; `rounding` is what it is more than the rows."""

    lines: list[WorkloadLine]
    rounding: Rounding
    total: UsageRow


def workload_table(lines: Sequence[WorkloadLine], places: int) -> WorkloadTable:
    """Lines with exact amounts as a table of rounded ones."""
    table = rounded_table([line.row for line in lines], places)
    shown = [
        replace(line, row=row) for line, row in zip(lines, table.rows, strict=True)
    ]
    return WorkloadTable(shown, table.rounding, table.total)


def quiet_teams(lines: Sequence[TeamLine], teams: Teams) -> list[TeamRef]:
    """Teams without held time in the range."""
    seen = {line.key for line in lines}
    return [team for slug, team in teams.items() if slug not in seen]
