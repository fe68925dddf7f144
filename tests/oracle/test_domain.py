"""The domain's functions on random fleets, against the oracle: values only, many of them."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracle.comparison import expected_holds
from tests.oracle.domain import computed
from tests.oracle.oracle import settled
from tests.oracle.plans import Plan, plans

EXAMPLES = 150


@pytest.mark.timeout(300)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_the_domain_says_what_the_rules_say(plan: Plan) -> None:
    """Every hold and every fact to the millisecond, with its flags."""
    samples, book = settled(plan)
    facts, holds = computed(samples, plan.interval)
    assert holds == expected_holds(book)
    assert facts == book.facts
