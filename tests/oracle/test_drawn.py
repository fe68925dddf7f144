"""The same few fleets each time, against the oracle: quick, for the search of faults."""

from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.oracle.comparison import expected_holds
from tests.oracle.domain import computed
from tests.oracle.ledger import Ledger
from tests.oracle.oracle import settled
from tests.oracle.plans import Plan, plans
from tests.oracle.samples import Sample
from tests.oracle.ways import same_ledgers

COUNT = 15
Fleet = tuple[list[Sample], Ledger, int | None]


@cache
def drawn(*, is_shaped: bool) -> list[Fleet]:
    """Fleets and what the rules say of them; drawn and settled once."""
    found: list[Fleet] = []

    @settings(
        max_examples=COUNT,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(is_shaped=is_shaped))
    def draw(plan: Plan) -> None:
        found.append((*settled(plan), plan.interval))

    draw()
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_shaped", [False, True], ids=["whole", "shaped"])
@pytest.mark.parametrize("n", range(COUNT))
def test_the_domain_says_what_the_rules_say(n: int, *, is_shaped: bool) -> None:
    """Every hold and every fact to the millisecond, with its flags."""
    samples, book, interval = drawn(is_shaped=is_shaped)[n]
    facts, holds = computed(samples, interval)
    assert holds == expected_holds(book)
    assert facts == book.facts


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_shaped", [False, True], ids=["whole", "shaped"])
@pytest.mark.parametrize("n", range(COUNT))
def test_both_ways_give_the_same_ledger(n: int, *, is_shaped: bool) -> None:
    """The short way of attribution gives the lines and issues of the long one."""
    samples, _, _ = drawn(is_shaped=is_shaped)[n]
    same_ledgers(samples)
