"""A fleet's samples, and what the rules say of them."""

from hypothesis import assume

from tests.oracle.evidence import Sample, Unsettled
from tests.oracle.fleets import Plan, scrape
from tests.oracle.ledger import Ledger, ledger


def settled(plan: Plan) -> tuple[list[Sample], Ledger]:
    """Samples and ledger; a fleet without a metric, or that no rule settles, is no case."""
    samples = scrape(plan)
    assume(any(sample.name != "up" for sample in samples))
    try:
        return samples, ledger(samples, plan.interval)
    except Unsettled:
        assume(False)
        raise
