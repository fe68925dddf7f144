"""The sentences with which the page of a month begins, and its waterfall: pure values."""

from dataclasses import replace
from decimal import Decimal

import pytest

from accounting.core.money import NOTHING, Money
from accounting.months.pages.month_waterfall import NAMED, month_waterfall
from accounting.months.reads.statement_table import StatementTable, statement_table
from accounting.months.reads.statements import StatementRow
from accounting.months.rules.check_words import CHECK_ACTIONS, CHECK_TITLES
from accounting.months.rules.month_sentences import MonthTold, month_sentences


def eur(amount: str) -> Money:
    """An amount in the currency of the tests."""
    return Money(Decimal(amount), "EUR")


OPEN = MonthTold(
    name="October 2026",
    payable=eur("110.00"),
    teams=eur("70.00"),
    unallocated=eur("40.00"),
    is_closed=False,
    is_over=True,
    uncharged="",
    revision=1,
    change=None,
    blocking=2,
    closed="",
    money=str,
)


WHOLE = (
    "to EUR 110.00: teams pay EUR 70.00, and EUR 40.00 of unallocated time stays with the"
    " platform."
)


def said(told: MonthTold) -> str:
    """All sentences as one text."""
    return " ".join("".join(text for text, _ in one) for one in month_sentences(told))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            f"October 2026 comes {WHOLE} 2 checks block the close.",
        ),
        ({"is_over": False, "blocking": 1}, "EUR 110.00 so far: teams pay"),
        ({"blocking": 1}, "1 check blocks the close."),
        ({"blocking": 0}, "Nothing blocks the close."),
        (
            {"uncharged": "12 GPU-h"},
            "12 GPU-h have no price or conversion rate and are in no amount.",
        ),
        (
            {"revision": 2, "change": eur("-3.50")},
            "This is EUR 3.50 less than revision 1.",
        ),
        ({"revision": 2, "change": eur("3.50")}, "EUR 3.50 more than revision 1."),
        ({"revision": 2, "change": NOTHING}, "The total is that of revision 1."),
        (
            {"is_closed": True, "closed": "Closed by finn on 5 Nov 2026"},
            f"October 2026 came {WHOLE} Closed by finn on 5 Nov 2026.",
        ),
        ({"payable": None}, "October 2026 is not booked yet. 2 checks block"),
    ],
)
def test_a_month_begins_with_what_it_comes_to(
    changes: dict[str, object], text: str
) -> None:
    assert text in said(replace(OPEN, **changes))  # type: ignore[arg-type]


def test_only_checks_that_a_page_mends_have_a_button() -> None:
    assert CHECK_TITLES.keys() - CHECK_ACTIONS.keys() == {"over", "settled"}


def statement(team: str, charge: str, payable: str = "", **more: Money) -> StatementRow:
    """A statement of some amounts."""
    amounts = {"entries": eur("0"), "corrections": eur("0")} | more
    return StatementRow(
        team=team,
        name=team.capitalize(),
        department="",
        cost_centre="",
        held_ms=0,
        charge=eur(charge),
        entries=amounts["entries"],
        corrections=amounts["corrections"],
        total=NOTHING,
        payable=eur(payable or charge),
        without_money_ms=0,
    )


def table_of(count: int) -> StatementTable:
    """Some teams, one with a credit that exceeds its charge, and the platform."""
    teams = [statement(f"t{n}", f"{n}.25") for n in range(1, count)]
    credited = statement("vision", "2.00", "-8.01", entries=eur("-10.00"))
    platform = statement(
        "platform",
        "40.00",
        "48.51",
        entries=eur("10.00"),
        corrections=eur("-1.50"),
    )
    return statement_table([*teams, credited, platform])


@pytest.mark.parametrize("count", [1, 2, NAMED, NAMED + 1, NAMED + 2, 70])
def test_the_steps_of_a_month_add_up_to_each_sum(count: int) -> None:
    table = table_of(count)
    total = NOTHING
    bars = month_waterfall(table)
    for step, part in bars:
        if step.is_sum:
            assert step.amount == total
        else:
            total += step.amount
        assert 0 <= part.x <= part.x + part.width <= 100.01
    assert total == table.all.payable
    assert [step.title for step, _ in bars if step.is_sum] == ["Teams", "Payable"]
    assert len(bars) <= NAMED + 12
    others = [step for step, _ in bars if step.title.endswith("other teams")]
    assert bool(others) == (count > NAMED + 1)
