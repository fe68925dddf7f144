"""Lists as pages show them: money adds up to the cent, unpriced time is told apart."""

import cProfile
import pstats
from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from accounting.core.ledger_line import STATES
from accounting.core.money import NOTHING, Money
from accounting.core.rounding import half_even
from accounting.usage.rules.comparison import average_gpus, change, share
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import (
    ledger_groups,
    rounded,
    rounded_each,
    rounding_of,
    total_of,
)
from tests.euros import added, eur

HOUR = 3_600_000


def row(
    busy: int, charge: str | None, idle_charge: str | None = "0", *, unpriced: int = 0
) -> UsageRow:
    """A row with busy hours and money."""
    return UsageRow(
        key={},
        busy_ms=busy * HOUR,
        idle_ms=HOUR,
        unknown_ms=0,
        charge=None if charge is None else eur(charge),
        idle_charge=None if idle_charge is None else eur(idle_charge),
        estimated=False,
        unpriced_ms=unpriced,
    )


def test_cents_of_rows_are_the_cents_of_the_total() -> None:
    rows = rounded([row(1, "0.333333"), row(1, "0.333333"), row(1, "0.333334")], 2)
    assert [one.charge for one in rows] == [
        eur("0.33"),
        eur("0.33"),
        eur("0.34"),
    ]
    assert total_of(rows).charge == eur("1.00")


def test_a_team_is_rounded_once_and_the_rest_is_a_row() -> None:
    exact = [row(1, "0.333333", "0.004"), row(1, "0.333333", "0.004"), row(1, "0.334")]
    rows = rounded_each(exact, 2)
    assert [one.charge for one in rows] == [eur("0.33")] * 3  # alone or in any list
    [total] = rounded_each([total_of(exact)], 2)
    assert total.charge == eur("1.00")
    rest = rounding_of(rows, total)
    assert (rest.charge, rest.idle_charge) == (eur("0.01"), eur("0.01"))
    assert not rounding_of([total], total)
    assert not rounding_of([], total_of([row(1, None, None)]))


def test_idle_cost_of_a_list_is_that_of_its_total() -> None:
    """Three idle parts of 0.004 are 0.01; as parts of one list they came to 0.00."""
    rows = rounded(
        [row(1, "5.000", "0.004"), row(1, "7", "0.004"), row(1, "1", "0.004")], 2
    )
    assert total_of(rows).idle_charge == eur("0.01")
    assert [one.charge for one in rows] == [eur("5.00"), eur("7.00"), eur("1.00")]
    assert [one.idle_charge for one in rows] == [eur("0"), eur("0.01"), eur("0")]


def test_a_row_without_a_price_keeps_none_and_is_left_out() -> None:
    rows = rounded([row(1, None, None, unpriced=2 * HOUR), row(1, "2.005")], 2)
    total = total_of(rows)
    assert rows[0].charge is None
    assert total.charge == eur("2.00")
    assert total.unpriced_ms == 2 * HOUR


def test_nothing_costs_nothing_and_only_unpriced_is_unknown() -> None:
    assert total_of([]).charge == NOTHING
    assert total_of([row(1, None, None)]).charge is None


def test_idle_cost_is_that_of_idle_time_and_a_row_without_any_says_nothing() -> None:
    """N26: a busy row costs 0 of idle time; it does not make the other's unknown cost 0."""
    busy = replace(row(1, "2.00", "0"), idle_ms=0)
    unknown = replace(row(1, "1.00", None), unpriced_ms=HOUR)
    shown = rounded([busy, unknown], 2)
    assert [(one.charge, one.idle_charge) for one in shown] == [
        (eur("2.00"), eur("0.00")),
        (eur("1.00"), None),
    ]
    assert (total_of(shown).charge, total_of(shown).idle_charge) == (eur("3.00"), None)
    known = replace(row(1, "1.00", "0.50"), unpriced_ms=HOUR)
    assert total_of([busy, unknown, known]).idle_charge == eur("0.50")


amounts = st.decimals(0, 10_000, places=6, allow_nan=False)


@given(st.lists(st.tuples(amounts, st.integers(0, 100)), min_size=1, max_size=30))
def test_idle_is_part_of_the_charge_and_sums_hold(
    pairs: list[tuple[Decimal, int]],
) -> None:
    rows = [
        row(1, str(charge), str((charge * percent / 100).quantize(Decimal("0.000001"))))
        for charge, percent in pairs
    ]
    shown = rounded(rows, 2)
    exact = added(one.charge for one in rows)
    total = total_of(shown)
    assert total.charge is not None
    assert abs(total.charge.amount - exact) <= Decimal("0.005")
    assert total.idle_charge is not None
    idle = added(one.idle_charge for one in rows)
    assert total.idle_charge.amount == half_even(idle, 2)
    for before, after in zip(rows, shown, strict=True):
        assert after.charge is not None
        assert before.charge is not None
        assert after.idle_charge is not None
        assert abs((after.charge - before.charge).amount) < Decimal("0.02")
        assert 0 <= after.idle_charge.amount <= after.charge.amount


def test_words_add_up_to_the_wall_time_and_its_money() -> None:
    ledger = LedgerRow(
        key={},
        milliseconds={state: (i + 1) * HOUR for i, state in enumerate(STATES)},
        charges={state: eur("0.333333") for state in STATES},
    )
    words = ledger_groups(ledger, {"Held": STATES[:3], "Rest": STATES[3:]}, 2)
    assert sum(word.milliseconds for word in words) == ledger.wall_ms
    assert added(word.charge for word in words) == Decimal("2.33")


def test_money_of_a_state_without_a_price_is_unknown() -> None:
    """N26: never 0 where a word has nothing else; decision 17: else the money of the rest."""
    ledger = LedgerRow(
        key={},
        milliseconds={state: (i + 1) * HOUR for i, state in enumerate(STATES)},
        charges={state: None if i == 1 else eur(2) for i, state in enumerate(STATES)},
    )
    words = ledger_groups(ledger, {"Held": STATES[:3], "Rest": STATES[3:]}, 2)
    assert [(w.name, w.milliseconds, w.charge) for w in words] == [
        ("Held", 6 * HOUR, eur("4.00")),
        ("Rest", 22 * HOUR, eur("8.00")),
    ]
    alone = ledger_groups(ledger, {"Idle": STATES[1:2]}, 2)
    assert [word.charge for word in alone] == [None]


def test_a_change_says_when_too_little_was_observed() -> None:
    moved = change(Decimal(100), Decimal(150), seen_before=0.5, seen_after=1.0)
    assert moved is not None
    assert moved.difference == 50
    assert moved.ratio == 0.5
    assert "50% of the time before" in moved.doubt
    calm = change(Decimal(100), Decimal(150), seen_before=0.99, seen_after=None)
    assert calm is not None
    assert calm.doubt == ""


def test_a_change_from_almost_nothing_has_no_percentage() -> None:
    moved = change(Decimal("0.10"), Decimal(10))
    assert moved is not None
    assert moved.ratio is None
    assert change(None, Decimal(1)) is None


def test_change_says_which_side_was_not_observed() -> None:
    late = change(1, 2, seen_before=0.95, seen_after=0.5)  # the floor itself is enough
    assert late is not None
    assert late.doubt == "only 50% of this range was observed"
    assert late.ratio == 1.0  # from one unit of currency on
    calm = change(Decimal(-1), 2, seen_before=0.95, seen_after=0.95)
    assert calm is not None
    assert (calm.doubt, calm.ratio) == ("", -3.0)


def test_amounts_of_two_currencies_are_two_lists_and_have_no_total() -> None:
    """They were added as numbers: 1 EUR and 100 JPY came to 101."""
    yen = replace(row(1, None), charge=Money(Decimal(100), "JPY"), idle_charge=NOTHING)
    rows = rounded([row(1, "0.335"), yen, row(1, "0.335")], 2)
    assert [one.charge for one in rows] == [
        eur("0.34"),
        Money(Decimal("100.00"), "JPY"),
        eur("0.33"),
    ]
    total = total_of(rows)
    assert (total.charge, total.currency) == (None, "")
    assert total.busy_ms == 3 * HOUR


def test_averages_and_shares_of_nothing_are_unknown() -> None:
    assert average_gpus(5, 0) is None
    assert average_gpus(6 * HOUR, 2 * HOUR) == 3.0
    assert share(1, 0) is None
    assert share(None, 5) is None
    assert share(Decimal(1), Decimal(4)) == 0.25


def test_total_adds_every_time_and_the_money_that_is_known() -> None:
    """N26: what has no price is left out and said; of rows without any it is unknown."""
    one = replace(
        row(1, "2.00", "0.50"), unknown_ms=5, samples_expected=10, samples_used=9
    )
    two = replace(
        row(3, None, None, unpriced=7), unknown_ms=6, samples_expected=4, samples_used=2
    )
    total = total_of([two, replace(one, estimated=True)])
    assert (total.busy_ms, total.idle_ms, total.unknown_ms) == (4 * HOUR, 2 * HOUR, 11)
    assert (total.charge, total.idle_charge) == (eur("2.00"), eur("0.50"))
    assert (total.samples_expected, total.samples_used, total.unpriced_ms) == (
        14,
        11,
        7,
    )
    assert (total.currency, total.estimated) == ("EUR", True)
    assert not total_of([one, two]).estimated
    unknown, nothing = total_of([two]), total_of([])
    assert (unknown.charge, unknown.idle_charge) == (None, None)
    assert (nothing.charge, nothing.idle_charge) == (NOTHING, NOTHING)
    assert nothing.currency == ""


def test_a_list_of_many_rows_takes_few_calls_for_each() -> None:
    """A chart of 200 teams has 4,000 rows; rounding and adding them took 90 calls for each."""
    rows = [row(n % 97, f"{n + 1}.333333", "0.123456") for n in range(1, 2001)]
    profile = cProfile.Profile()
    shown = profile.runcall(rounded, rows, 2)
    profile.runcall(total_of, shown)
    calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    assert calls < 50 * len(rows)
