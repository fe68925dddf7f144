"""Lists of report rows as a page shows them: money in the currency's places, and totals.

Rows with a name are rounded one by one, as the statements of teams and explanations are, and
what is left is a row of its own (rules.md N28); so are the charts of Explore. In other charts,
cells are rounded by largest remainder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from heapq import nlargest

from accounting.core.efficiency import sum_times
from accounting.core.ledger_line import STATES
from accounting.core.money import NOTHING, Money, money_of_time, split_list
from accounting.core.rounding import half_even
from accounting.metering.rules.intensity.summary import together
from accounting.usage.rules.rows import LedgerRow, UsageRow


def rounded(rows: Sequence[UsageRow], places: int) -> list[UsageRow]:
    """The same rows with money in `places`; charges and idle charges come to rounded totals.

    Cells are a row's idle and not idle part; an amount without a price stays None.
    """
    cells: dict[tuple[int, str], tuple[Decimal, str]] = {}
    for i, row in enumerate(rows):
        if row.charge is None:
            continue
        cells[i, "held"] = (row.charge - (row.idle_charge or NOTHING)).cell
        if row.idle_charge is not None:
            cells[i, "idle"] = row.idle_charge.cell
    amounts = split_list(cells, places)
    _keep_idle_totals(cells, amounts, places)
    return [
        row.with_money(
            amounts[i, "held"] + amounts.get((i, "idle"), NOTHING),
            amounts.get((i, "idle")),
        )
        if (i, "held") in amounts
        else row
        for i, row in enumerate(rows)
    ]


def _keep_idle_totals(
    cells: Mapping[tuple[int, str], tuple[Decimal, str]],
    amounts: dict[tuple[int, str], Money],
    places: int,
) -> None:
    """Make the idle parts of each currency come to their own rounded total; charges stay.

    The parts are one list, so what is idle can be a few units off. They are moved to the other
    parts of the largest rows, one each.
    """
    unit = Decimal(1).scaleb(-places)
    idle = [key for key in cells if key[1] == "idle"]
    for currency in {cells[key][1] for key in idle} - {""}:
        mine = [i for i, _ in idle if cells[i, "idle"][1] == currency]
        exact = sum((cells[i, "idle"][0] for i in mine), Decimal(0))
        shown = sum((amounts[i, "idle"].amount for i in mine), Decimal(0))
        left = int((half_even(exact, places) - shown) / unit)
        step = Money(unit if left > 0 else -unit, currency)
        source = "held" if left > 0 else "idle"  # no part goes below 0
        having = [i for i in mine if amounts[i, source].amount >= unit]
        for i in nlargest(abs(left), having, lambda i: amounts[i, "held"].amount):
            amounts[i, "idle"] += step
            amounts[i, "held"] -= step


def rounded_each(rows: Sequence[UsageRow], places: int) -> list[UsageRow]:
    """The same rows with each amount rounded alone, half to even.

    A team or workload has one amount on every page, whatever is listed beside it: that of its
    explanation. The rows need not add up to the rounded total: `rounding_of` is what is left.
    """
    return [
        row.with_money(
            _rounded_money(row.charge, places), _rounded_money(row.idle_charge, places)
        )
        for row in rows
    ]


def _rounded_money(amount: Money | None, places: int) -> Money | None:
    if amount is None:
        return None
    return Money(half_even(amount.amount, places), amount.currency)


@dataclass(frozen=True, slots=True)
class Rounding:
    """What a total is more than the rows above it; None where nothing is left."""

    charge: Money | None
    idle_charge: Money | None

    def __bool__(self) -> bool:
        return bool(self.charge or self.idle_charge)


def rounding_of(rows: Sequence[UsageRow], total: UsageRow) -> Rounding:
    """The row between rows that were rounded one by one and their total."""
    shown = total_of(rows)
    return Rounding(
        _left(shown.charge, total.charge), _left(shown.idle_charge, total.idle_charge)
    )


@dataclass(frozen=True, slots=True)
class RoundedTable:
    """Rows rounded one by one in their order, their rounded total, and what is between them."""

    rows: list[UsageRow]
    rounding: Rounding
    total: UsageRow


def rounded_table(exact: Sequence[UsageRow], places: int) -> RoundedTable:
    """The rows of a table with its row "Rounding" and its total."""
    rows = rounded_each(exact, places)
    [total] = rounded_each([total_of(exact)], places)
    return RoundedTable(rows, rounding_of(rows, total), total)


def _left(shown: Money | None, total: Money | None) -> Money | None:
    if shown is None or total is None or shown.amount == total.amount:
        return None
    return total - shown


def total_of(rows: Sequence[UsageRow]) -> UsageRow:
    """The sum of rows; zero if there are no rows, no money if it is in two currencies.

    Money is the money of the time that has a price; `unpriced_ms` is the time that has none.
    """
    times = sum_times(rows)
    found = {name for row in rows for name in (*row.currencies, row.currency)} - {""}
    currencies = tuple(sorted(found)) if len(found) > 1 else ()
    return UsageRow(
        *(times.busy_ms, times.idle_ms, times.unknown_ms),
        key={},
        charge=None
        if currencies
        else money_of_time((row.allocated_ms, row.charge) for row in rows),
        idle_charge=None
        if currencies
        else money_of_time((row.idle_ms, row.idle_charge) for row in rows),
        estimated=any(row.estimated for row in rows),
        samples_expected=sum(row.samples_expected for row in rows),
        samples_used=sum(row.samples_used for row in rows),
        hard=together(row.hard for row in rows),
        unpriced_ms=sum(row.unpriced_ms for row in rows),
        currencies=currencies,
    )


@dataclass(frozen=True, slots=True)
class WordTotal:
    """One of the four state groups: its time and its money."""

    name: str
    milliseconds: int
    charge: Money | None


def state_amounts(row: LedgerRow, places: int) -> dict[str, Money | None]:
    """A ledger row's money by state in `places`, adding up to its rounded total (N28).

    None for a state without a price.
    """
    cells = {state: one.cell for state, one in row.charges.items() if one is not None}
    amounts = split_list(cells, places)
    return {state: amounts.get(state) for state in STATES}


def ledger_groups(
    row: LedgerRow, groups: Mapping[str, Sequence[str]], places: int
) -> list[WordTotal]:
    """A ledger row's seven states under fewer names, in order; sums stay exact."""
    shown = replace(row, charges=state_amounts(row, places))
    return [
        WordTotal(
            name,
            sum(row.milliseconds[state] for state in states),
            shown.charge_of(states),
        )
        for name, states in groups.items()
    ]
