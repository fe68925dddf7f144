"""The money of one GPU: its list of payers agrees with its list of states, to the cent."""

from decimal import Decimal

import pytest
from django.urls import get_resolver
from hypothesis import given
from hypothesis import strategies as st

from accounting.access.reads.teams import UNMAPPED_TEAM, TeamRef
from accounting.core.ledger_line import HELD_STATES, PLATFORM_STATES, STATES
from accounting.core.money import NOTHING, Money
from accounting.fleet.pages.gpu_money import Earnings, earnings
from accounting.kit.charts.bars import STATE_GROUPS
from accounting.usage.rules.rows import LedgerRow, UsageRow
from accounting.usage.rules.totals import ledger_groups, state_amounts
from tests.euros import added, eur, number

get_resolver().reverse_dict  # noqa: B018  # loads all pages: a second that is not a test's own
HOUR = 3_600_000
TEAMS = {slug: TeamRef(1, slug, slug, "", 1) for slug in ("vision", "speech")}
MICROS = st.integers(0, 10**9)


def amount(micros: int) -> Money:
    return eur(Decimal(micros).scaleb(-6))


def pod(team: str, micros: int) -> UsageRow:
    """One pod of a team, with an hour and an amount in six places."""
    return UsageRow(
        HOUR,
        0,
        0,
        {"team": team},
        amount(micros),
        NOTHING,
        estimated=False,
    )


def of_gpu(pods: dict[str, int], states: dict[str, int]) -> tuple[Earnings, LedgerRow]:
    """The payers of a GPU with these millionths by team, and by state."""
    ledger = LedgerRow(
        key={},
        milliseconds=dict.fromkeys(STATES, HOUR),
        charges={state: amount(states.get(state, 0)) for state in STATES},
    )
    rows = [pod(team, micros) for team, micros in pods.items()]
    return earnings(rows, ledger, TEAMS, 2), ledger


def test_the_platform_pays_what_the_card_calls_unallocated() -> None:
    """Each list gave the missing cent to another line: 0.33 here, 0.34 there."""
    states = {"busy": 333_000, "idle": 333_000, "free": 334_000}
    found, ledger = of_gpu({"vision": 666_000}, states)
    assert [line.charge for line in found.lines] == [eur("0.66"), eur("0.34")]
    groups = {one.name: one.charge for one in ledger_groups(ledger, STATE_GROUPS, 2)}
    assert groups["Unallocated"] == found.lines[-1].charge
    assert found.charge == eur("1.00")


@given(
    teams=st.dictionaries(
        st.sampled_from(["vision", "speech", "unmapped"]), MICROS, min_size=1
    ),
    parts=st.tuples(st.integers(0, 100), st.integers(0, 100)),
    rest=st.tuples(MICROS, MICROS, MICROS, MICROS),
)
def test_payers_and_states_agree(
    teams: dict[str, int], parts: tuple[int, int], rest: tuple[int, int, int, int]
) -> None:
    held = sum(teams.values())
    busy = held * parts[0] // 100
    idle = (held - busy) * parts[1] // 100
    states = {"busy": busy, "idle": idle, "unknown": held - busy - idle}
    names = ("free", "stranded", "stray", "dark")
    found, ledger = of_gpu(teams, states | dict(zip(names, rest, strict=True)))
    card = state_amounts(ledger, 2)
    assert number(found.charge) == added(card.values())
    platform = added(card[state] for state in PLATFORM_STATES)
    assert number(found.lines[-1].charge) == platform
    for line in found.lines[:-1]:
        exact = amount(teams[line.name if line.slot else UNMAPPED_TEAM.slug])
        assert line.charge is not None
        assert abs((line.charge - exact).amount) < Decimal("0.05")


def test_charges_that_the_ledger_leaves_out_are_not_spread() -> None:
    """Only its tier has a price: teams pay, and what the whole GPU's time is worth is unknown."""
    ledger = LedgerRow(
        key={},
        milliseconds=dict.fromkeys(STATES, HOUR),
        charges=dict.fromkeys(STATES),
    )
    found = earnings([pod("vision", 2_005_000)], ledger, {}, 2)
    assert [line.charge for line in found.lines] == [eur("2.00"), None]
    part = LedgerRow(
        key={},
        milliseconds=dict.fromkeys(STATES, HOUR),
        charges=dict.fromkeys(STATES, eur("0.500000")),
    )
    found = earnings([pod("vision", 2_000_000)], part, {}, 2)
    assert [line.charge for line in found.lines] == [eur("2.00")] * 2


@pytest.mark.parametrize("state", HELD_STATES)
def test_nobody_held_it(state: str) -> None:
    found, _ = of_gpu({}, {state: 0, "free": 1_000_000})
    assert [(line.name, line.charge) for line in found.lines] == [
        ("Platform", eur("1.00"))
    ]
