"""How much of the idle cost is in findings, over the same days (scheduling.md "Waste")."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

from accounting.domain.core.billing_calendar import DAY, DayRange
from accounting.domain.core.money import NOTHING, Money
from accounting.queries.selection import Selection
from accounting.queries.usage.usage import usage_total
from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.queries.waste.rows import WasteReport

IDLE_RULES = frozenset(
    {WasteRule.NEVER_BUSY, WasteRule.TAIL, WasteRule.IDLE, WasteRule.IDLE_GPUS}
)
"""Rules whose time is idle time of the ledger, each millisecond in one finding."""


@dataclass(frozen=True, slots=True)
class IdleBridge:
    """Idle cost of the measured days, and its part that findings of idle time have."""

    idle: Money
    found: Money
    days: int


def idle_bridge(
    report: WasteReport, selection: Selection, zone: ZoneInfo
) -> IdleBridge | None:
    """None without a measured day, or if the idle cost has no price or several currencies.

    Args:
        report: of the same teams and clusters as the selection.
        zone: of billing days.
    """
    idle = NOTHING
    for days in _runs(report.days):
        period = days.period(zone)
        total = usage_total(replace(selection, period=period)).idle_charge
        if total is None or (idle.amount and total.currency != idle.currency):
            return None
        idle = idle + total
    if not idle.amount:
        return None
    found = sum(
        (
            Money(row.amount, row.currency)
            for row in report.rows
            if row.rule in IDLE_RULES
            and row.amount is not None
            and row.currency == idle.currency
        ),
        NOTHING,
    )
    return IdleBridge(idle, found, len(report.days))


def _runs(days: Sequence[date]) -> Iterator[DayRange]:
    """Days in order, as ranges without gaps."""
    first = last = None
    for day in days:
        if first is None or last is None or day != last + DAY:
            if first is not None and last is not None:
                yield DayRange(first, last + DAY)
            first = day
        last = day
    if first is not None and last is not None:
        yield DayRange(first, last + DAY)
