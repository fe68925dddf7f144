"""Where the money of one GPU comes from: its teams, and the platform's line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.domain.core.rounding import split_money
from accounting.domain.reports.efficiency import sum_times
from accounting.domain.reports.rows import LedgerRow, UsageRow
from accounting.queries.teams.teams import TeamRef, team_named
from accounting.web.tables import team_url

PLATFORM = ("free", "stranded", "stray", "dark")  # rules.md N29


@dataclass(frozen=True, slots=True)
class Earned:
    """One payer. `charge` is None where none of its time has a price."""

    name: str
    slot: int
    url: str
    milliseconds: int
    efficiency: float | None
    charge: Decimal | None


@dataclass(frozen=True, slots=True)
class Earnings:
    """Every payer of a GPU's time; together all of its time, and the money that is known.

    `unpriced_ms` is the time without a price: no line has money for it.
    """

    lines: tuple[Earned, ...]
    milliseconds: int
    charge: Decimal | None
    unpriced_ms: int


def earnings(
    pods: Sequence[UsageRow],
    ledger: LedgerRow,
    teams: Mapping[str, TeamRef],
    places: int,
) -> Earnings:
    """Teams by charge, then the platform's line; rounded once, on the total (N28).

    Args:
        pods: held time of the GPU by pod and team.
        ledger: its seven states with money.
    """
    by_team: dict[str, list[UsageRow]] = {}
    for row in pods:
        by_team.setdefault(row.key["team"], []).append(row)
    cells: dict[tuple[str, str], Fraction | Decimal] = {}
    for slug, rows in by_team.items():
        charges = [row.charge for row in rows if row.charge is not None]
        if charges:
            cells["team", slug] = sum(charges, Decimal(0))
    platform = ledger.charge_of(PLATFORM)
    if platform is not None:
        cells["~platform", ""] = platform
    amounts = split_money(cells, places)
    lines = [
        _of_team(team_named(teams, slug), rows, amounts.get(("team", slug)))
        for slug, rows in by_team.items()
    ]
    lines.sort(key=lambda line: (-(line.charge or 0), -line.milliseconds, line.name))
    rest = Earned(
        name="Platform",
        slot=0,
        url="",
        milliseconds=sum(ledger.milliseconds[state] for state in PLATFORM),
        efficiency=None,
        charge=amounts.get(("~platform", "")),
    )
    lines.append(rest)
    known = [line.charge for line in lines if line.charge is not None]
    return Earnings(
        tuple(lines),
        sum(line.milliseconds for line in lines),
        sum(known, Decimal(0)) if known else None,
        ledger.unpriced_ms,
    )


def _of_team(team: TeamRef, rows: Sequence[UsageRow], charge: Decimal | None) -> Earned:
    times = sum_times(rows)
    return Earned(
        team.name,
        team.slot,
        team_url(team),
        *(times.allocated_ms, times.efficiency),
        charge,
    )
