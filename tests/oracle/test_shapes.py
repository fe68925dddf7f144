"""The domain's functions on random fleets of divided and shared GPUs, against the oracle."""

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings

from tests.budgets import examples, seconds
from tests.oracle.both import differs
from tests.oracle.comparison import none_of
from tests.oracle.draws import plans
from tests.oracle.oracle import settled
from tests.oracle.plans import Plan

FEW = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.timeout(seconds(300))
@settings(FEW, max_examples=examples(16))
@given(plans(is_shaped=True))
def test_the_oracle_conserves(plan: Plan) -> None:
    """Every millisecond of every GPU is in one state (N21)."""
    _, book = settled(plan)
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for (window, uuid, _, _), fact in book.facts.items():
        sums[window, uuid] += sum(fact.states)
    assert all(0 < total <= 300_000 for total in sums.values())


@pytest.mark.timeout(seconds(300))
@settings(FEW, max_examples=examples(40))
@given(plans(is_shaped=True))
def test_the_domain_says_what_the_rules_say(plan: Plan) -> None:
    """Every hold and every fact to the millisecond, with its flags."""
    samples, book = settled(plan)
    none_of(differs(samples, plan.setup, book))
