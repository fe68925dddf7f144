"""The same few fleets each time, against the oracle: quick, for the search of faults."""

from functools import cache

import pytest

from tests.oracle.both import differs
from tests.oracle.comparison import none_of
from tests.oracle.fleets import scrape
from tests.oracle.ledger import Ledger, ledger
from tests.oracle.samples import Sample
from tests.oracle.seeds import fleet_of
from tests.oracle.setup import Setup
from tests.oracle.ways import same_ledgers

NUMBERS = range(1, 33)  # two of each theme


@cache
def drawn(number: int) -> tuple[list[Sample], Setup, Ledger]:
    """A fleet and what the rules say of it; drawn and computed once."""
    plan = fleet_of(number)
    samples = scrape(plan)
    return samples, plan.setup, ledger(samples, plan.setup)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", NUMBERS)
def test_the_domain_says_what_the_rules_say(number: int) -> None:
    """Every hold and every fact to the millisecond, with its flags."""
    none_of(differs(*drawn(number)))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", NUMBERS)
def test_both_ways_give_the_same_ledger(number: int) -> None:
    """The short way of attribution gives the lines and issues of the long one."""
    samples, setup, _ = drawn(number)
    same_ledgers(samples, setup)
