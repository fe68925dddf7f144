"""Rows of tables: report rows with names, colors and addresses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from accounting.access.reads.teams import TeamRef, team_named
from accounting.core.money import amount_of
from accounting.kit.family_address import family_url
from accounting.usage.reads.breakdown import Mover
from accounting.usage.rules.comparison import Comparison
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import Rounding, rounded_table

Teams = Mapping[str, TeamRef]


def team_url(team: TeamRef) -> str:
    """The page of a team; empty for unmapped usage."""
    return reverse("team", args=[team.slug]) if team.id else ""


Sorter = Callable[[Any], Any]


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
    named = {
        slug: team_named(teams, slug) for slug in {row.key["team"] for row in rows}
    }
    urls = {slug: team_url(team) for slug, team in named.items()}
    lines = []
    for row in rows:
        team = named[row.key["team"]]
        lines.append(
            WorkloadLine(
                team=team.name,
                key=row.key["team"],
                slot=team.slot,
                url=urls[row.key["team"]],
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


@dataclass(frozen=True, slots=True)
class IdleFamily:
    """A family with idle time; `url` is its page, `team_url` that of its team."""

    team: str
    key: str
    slot: int
    team_url: str
    namespace: str
    family: str
    url: str
    row: UsageRow


def idle_families(rows: Sequence[UsageRow], teams: Teams) -> list[IdleFamily]:
    """A line for each row by team and family that has idle time."""
    lines = []
    for row in rows:
        if not row.idle_ms:
            continue
        slug, namespace, family = (row.key[k] for k in ("team", "namespace", "family"))
        team = team_named(teams, slug)
        lines.append(
            IdleFamily(
                team.name,
                slug,
                team.slot,
                team_url(team),
                namespace,
                family,
                _family_page(team, namespace, family),
                row,
            )
        )
    return lines


def _family_page(team: TeamRef, namespace: str, family: str) -> str:
    return family_url(team.slug, namespace, family) if team.id else ""


@dataclass(frozen=True, slots=True)
class MoverLine:
    """A family whose charge changed, with its team's name and color; `url` is its page."""

    team: str
    slot: int
    url: str
    family: str
    change: Comparison


def mover_lines(found: Sequence[Mover], teams: Teams) -> list[MoverLine]:
    """Movers with the names of their teams."""
    return [
        MoverLine(
            team_named(teams, mover.team).name,
            team_named(teams, mover.team).slot,
            _family_page(team_named(teams, mover.team), mover.namespace, mover.family),
            mover.family,
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
