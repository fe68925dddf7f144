"""A fleet's samples, and what the rules say of them."""

from hypothesis import assume

from tests.oracle.evidence import Sample
from tests.oracle.fleets import Plan, scrape
from tests.oracle.ledger import Ledger, ledger


def settled(plan: Plan) -> tuple[list[Sample], Ledger]:
    """Samples and ledger; a fleet without a metric is no case."""
    samples = scrape(plan)
    assume(any(sample.name != "up" for sample in samples))
    return samples, ledger(samples, plan.interval)
