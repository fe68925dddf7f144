"""What holds for every ledger of the reference (docs/money.md, M4, M23 and M31)."""

from collections import defaultdict
from fractions import Fraction

import pytest

from tests.oracle.money.answers import step_answer
from tests.oracle.money.exact import MICRO, minor_places
from tests.oracle.money.ledger import Booking, Ledger
from tests.oracle.money.worlds import steps_of


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_ledgers_add_up(first: int) -> None:
    for number in range(first, first + 20):
        ledger = Ledger()
        for step in steps_of(number):
            step_answer(ledger, step)
            if step["do"] == "show":
                _adds_up(ledger.show(step["period"], step["method"]))
            if step["do"] == "close" and "world" in step:
                _adds_up(ledger.closed[step["period"]])
                _is_corrected(ledger)


def _adds_up(booking: Booking) -> None:
    """Lines sum to the payable; without rounding, to what is before it."""
    unit = 10 ** (MICRO - minor_places(booking.currency))
    charges = sum(line.charge or 0 for line in booking.lines)
    assert charges == unit * sum(booking.payables.values())
    rounding = sum(x.charge or 0 for x in booking.lines if x.kind == "rounding")
    assert charges - rounding == sum(booking.totals.values())
    spread = [line for line in booking.own() if line.kind == "spread"]
    assert sum((line.raw or Fraction(0) for line in spread), Fraction(0)) == 0
    assert sum(line.ms for line in spread) == 0


def _is_corrected(ledger: Ledger) -> None:
    """Booked + corrections = now, for every closed period and key."""
    for closed in ledger.closed.values():
        found: dict[tuple[str, ...], list[Fraction]] = defaultdict(
            lambda: [Fraction(0), Fraction(0)]
        )
        for key, lines in ledger.booked(closed).items():
            raw = sum((line.raw or Fraction(0) for line in lines), Fraction(0))
            found[key] = [Fraction(sum(line.ms for line in lines)), raw]
        now = {
            key: [Fraction(line.ms), line.raw or Fraction(0)]
            for key, line in ledger.now(closed).items()
        }
        assert {key: sums for key, sums in found.items() if any(sums)} == now
