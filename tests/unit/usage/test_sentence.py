"""The sentence of a page: each part with its figure, left out where the data do not cover it."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.core.billing_calendar import DayRange
from accounting.usage.rules.comparison import Comparison, change
from accounting.usage.rules.sentence import (
    MonthBudget,
    Sentence,
    Spend,
    SpendCause,
    before_words,
    budget_sentence,
    range_words,
    spend_sentences,
)

PERIOD, BEFORE = "in November so far", "by this time in October"
MINUS = "\N{MINUS SIGN}"


def money(amount: Decimal) -> str:
    return f"€{amount:,.0f}"


def changed(before: str, after: str, doubt: str = "") -> Comparison:
    found = change(Decimal(before), Decimal(after))
    assert found is not None
    return replace(found, doubt=doubt)


SPEND = Spend(
    who="Vision",
    when=PERIOD,
    before=BEFORE,
    amount=Decimal("19868.66"),
    held="10,383 GPU-h",
    money=money,
    change=changed("17410.79", "19868.66"),
    causes=(SpendCause("video-model", Decimal("1904.96")),),
    idle_share=0.2703,
    coverage=0.999,
)
SPENT = "Vision spent *€19,869* in November so far"
MORE = f"{SPENT}, 14.1% more than {BEFORE}"
LESS = f"{SPENT}, 9.7% less than {BEFORE}"
IDLE = " *27%* of it was idle."
BECAUSE = ", mostly for *video-model* (+€1,905)"


def text(sentences: list[Sentence]) -> str:
    """Figures between asterisks."""
    return " ".join(
        "".join(f"*{part}*" if is_figure else part for part, is_figure in one)
        for one in sentences
    )


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, f"{MORE}{BECAUSE}.{IDLE}"),
        ({"change": None}, f"{SPENT}.{IDLE}"),
        ({"change": changed("17410.79", "19868.66", "only 90%")}, f"{SPENT}.{IDLE}"),
        ({"change": changed("0.5", "19868.66")}, f"{SPENT}.{IDLE}"),
        ({"has_gaps": True}, f"{SPENT}.{IDLE}"),
        ({"is_partial": True}, f"Vision spent at least *€19,869* {PERIOD}.{IDLE}"),
        ({"who": "", "change": None}, f"This selection cost *€19,869* {PERIOD}.{IDLE}"),
        ({"causes": ()}, f"{MORE}.{IDLE}"),
        # less than half of the change, or against it
        ({"causes": (SpendCause("small", Decimal(1228)),)}, f"{MORE}.{IDLE}"),
        (
            {"causes": (SpendCause("half", Decimal(1229)),)},
            f"{MORE}, mostly for *half* (+€1,229).{IDLE}",
        ),
        ({"causes": (SpendCause("other", Decimal(-9000)),)}, f"{MORE}.{IDLE}"),
        (
            {"causes": (SpendCause("a", Decimal(-9000)), SpendCause("b", Decimal(3000)))},
            f"{MORE}, mostly for *b* (+€3,000).{IDLE}",
        ),
        (
            {
                "change": changed("22000", "19868.66"),
                "causes": (SpendCause("pretrain", Decimal(-13517)),),
            },
            f"{LESS}, mostly for *pretrain* ({MINUS}€13,517).{IDLE}",
        ),
        (
            {"change": changed("19868.66", "19868.66")},
            f"{SPENT}, as much as {BEFORE}.{IDLE}",
        ),
        (  # what went up and what went down cancel: neither is what it is for
            {"change": changed("19850", "19868.66")},
            f"{SPENT}, 0.1% more than {BEFORE}.{IDLE}",
        ),
        (
            {"change": changed("1000", "19868.66"), "causes": ()},
            f"{SPENT}, 20 times as much as {BEFORE}.{IDLE}",
        ),
        ({"idle_share": None}, f"{MORE}{BECAUSE}."),
        # credits: more than all of it, or less than nothing
        ({"idle_share": 1.3}, f"{MORE}{BECAUSE}."),
        ({"idle_share": -0.3}, f"{MORE}{BECAUSE}."),
        ({"change": changed("-1000", "19868.66")}, f"{SPENT}.{IDLE}"),
        (
            {"amount": Decimal(-400), "change": changed("17410", "-400"), "idle_share": -0.3},
            "Vision spent *€-400* in November so far.",
        ),
        ({"coverage": 0.94}, f"{MORE}{BECAUSE}."),
        ({"coverage": None}, f"{MORE}{BECAUSE}."),
        # no price, or several currencies: the time is known
        ({"amount": None}, "Vision held *10,383 GPU-h* in November so far."),
    ],
)  # fmt: skip
def test_spend_is_told_with_what_the_data_cover(
    values: dict[str, object], told: str
) -> None:
    assert text(spend_sentences(replace(SPEND, **values))) == told  # type: ignore[arg-type]  # a table


BUDGET = MonthBudget(
    date(2026, 11, 1), Decimal(75000), Decimal(55802), Decimal(76105), False, money
)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (BUDGET, "At this rate the budget of November is exceeded by *€1,105*."),
        (
            replace(BUDGET, forecast=Decimal(73000)),
            "At this rate November comes to *€73,000* of its budget of €75,000.",
        ),
        (
            replace(BUDGET, actual=Decimal(75400)),
            "The budget of November is exceeded by *€400*.",
        ),
        (replace(BUDGET, forecast=None), ""),
        (replace(BUDGET, is_partial=True), ""),
        (None, ""),
    ],
)
def test_the_budget_is_told_with_its_figure(
    budget: MonthBudget | None, told: str
) -> None:
    found = budget_sentence(budget)
    assert text([found] if found else []) == told


TODAY = date(2026, 11, 23)  # a Monday
NOVEMBER = DayRange(date(2026, 11, 1), date(2026, 11, 24))
SEPTEMBER = DayRange(date(2026, 9, 1), date(2026, 10, 1))
OCTOBER = DayRange(date(2026, 10, 1), date(2026, 11, 1))


def week(first: date, days: int = 7) -> DayRange:
    return DayRange(first, first + timedelta(days=days))


@pytest.mark.parametrize(
    ("days", "before", "when", "against"),
    [
        (NOVEMBER, week(date(2026, 10, 1), 23), PERIOD, BEFORE),
        (OCTOBER, SEPTEMBER, "in October", "in September"),
        (week(date(2026, 11, 16)), week(date(2026, 11, 9)), "last week", "the week before"),
        (week(date(2026, 11, 17)), week(date(2026, 11, 10)), "in the last 7 days", "on B"),
        (week(TODAY, 1), week(date(2026, 11, 22), 1), "today so far", "on B"),
        (week(date(2026, 11, 3), 9), week(date(2026, 10, 25), 9), "on A", "on B"),
        # the same days of another year are named
        (NOVEMBER, week(date(2025, 11, 1), 23), PERIOD, "on B"),
    ],
)  # fmt: skip
def test_ranges_in_words(
    days: DayRange, before: DayRange, when: str, against: str
) -> None:
    assert range_words(days, TODAY, "A") == when
    assert before_words(days, before, when, "B") == against
