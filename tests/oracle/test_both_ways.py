"""Attribution as arrays gives the ledgers of the exact path, on random fleets."""

import hypothesis
from hypothesis import HealthCheck, given, settings

from tests.oracle.draws import plans
from tests.oracle.fleets import scrape
from tests.oracle.plans import Plan
from tests.oracle.ways import same_ledgers


@given(plan=plans())
@settings(max_examples=200, deadline=None)
def test_both_ways_give_the_same_ledger(plan: Plan) -> None:
    compared(plan)


@given(plan=plans(is_shaped=True))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_give_the_same_ledger_of_divided_and_shared_gpus(plan: Plan) -> None:
    compared(plan)


def compared(plan: Plan) -> None:
    """Every line, issue and sum of GPU activity is the same."""
    samples = scrape(plan)
    hypothesis.assume(samples)
    found = same_ledgers(samples)
    hypothesis.event("arrays" if any(len(x.table) for x in found) else "exact only")
