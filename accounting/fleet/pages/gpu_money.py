"""The payers of one GPU's time: its teams, and the platform's line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from accounting.access.reads.teams import TeamRef, team_named
from accounting.core.ledger_line import HELD_STATES, PLATFORM_STATES
from accounting.core.money import Money, amount_of, split_list, sum_money
from accounting.usage.pages.tables import team_url
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import state_amounts, total_of


@dataclass(frozen=True, slots=True)
class Earned:
    """One payer. `charge` is None if no time has a price, or with several `currencies`.

    `dark_ms` is the part of its time that another card of the page names "No data".
    """

    name: str
    slot: int
    url: str
    milliseconds: int
    efficiency: float | None
    charge: Money | None
    currencies: tuple[str, ...] = ()
    dark_ms: int = 0


@dataclass(frozen=True, slots=True)
class Earnings:
    """All payers of a GPU's time; together all its time, and the known money.

    `unpriced_ms` is the time without a price, which no line includes.
    """

    lines: tuple[Earned, ...]
    milliseconds: int
    charge: Money | None
    unpriced_ms: int
    currencies: tuple[str, ...] = ()


def earnings(
    pods: Sequence[UsageRow],
    ledger: LedgerRow,
    teams: Mapping[str, TeamRef],
    places: int,
) -> Earnings:
    """Teams by charge, then the platform's line.

    The page shows the same money by state. It is rounded once, by state (N28): what the
    held states come to is divided over the teams, and the rest is the platform's.

    Args:
        pods: held time of the GPU by pod and team.
        ledger: its seven states with money.
    """
    shown = replace(ledger, charges=state_amounts(ledger, places))
    by_team: dict[str, list[UsageRow]] = {}
    for row in pods:
        by_team.setdefault(row.key["team"], []).append(row)
    charges = {
        slug: charge
        for slug, rows in by_team.items()
        if (charge := sum_money(row.charge for row in rows)) is not None
    }
    held = None
    if _is_same(sum_money(charges.values()), ledger.charge_of(HELD_STATES)):
        held = shown.charge_of(HELD_STATES)
    cells = {slug: charge.cell for slug, charge in charges.items()}
    amounts = split_list(cells, places, total=held)
    lines = [
        _of_team(team_named(teams, slug), rows, amounts.get(slug))
        for slug, rows in by_team.items()
    ]
    lines.sort(
        key=lambda line: (-(amount_of(line.charge) or 0), -line.milliseconds, line.name)
    )
    rest = Earned(
        name="Platform",
        slot=0,
        url="",
        milliseconds=sum(ledger.milliseconds[state] for state in PLATFORM_STATES),
        efficiency=None,
        charge=shown.charge_of(PLATFORM_STATES),
        currencies=ledger.currencies,
        dark_ms=ledger.milliseconds["dark"],
    )
    lines.append(rest)
    return Earnings(
        tuple(lines),
        sum(line.milliseconds for line in lines),
        sum_money(line.charge for line in lines),
        ledger.unpriced_ms,
        ledger.currencies,
    )


def _is_same(charged: Money | None, held: Money | None) -> bool:
    """Whether teams are charged what the held states come to, as each list rounds it.

    They are charged more where a profile or tier has a price and the whole GPU has none: the
    ledger leaves that time out (N27).
    """
    most = len(HELD_STATES) * Decimal("0.000001")
    if charged is None or held is None:
        return False
    return abs(charged.amount - held.amount) <= most


def _of_team(team: TeamRef, rows: Sequence[UsageRow], charge: Money | None) -> Earned:
    total = total_of(rows)
    return Earned(
        team.name,
        team.slot,
        team_url(team),
        *(total.allocated_ms, total.efficiency),
        charge,
        total.currencies,
    )
