"""The domain's functions on random fleets of all themes, against the oracle: values only."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.budgets import examples, seconds
from tests.oracle.both import differs
from tests.oracle.comparison import none_of
from tests.oracle.oracle import settled
from tests.oracle.plans import Plan
from tests.oracle.themes import fleets


@pytest.mark.timeout(seconds(300))
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(fleets())
def test_the_domain_says_what_the_rules_say(plan: Plan) -> None:
    """Every hold and every fact to the millisecond, with its flags."""
    samples, book = settled(plan)
    none_of(differs(samples, plan.setup, book))
