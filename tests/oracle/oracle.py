"""A fleet's samples, and what the rules say of them."""

from hypothesis import assume

from tests.oracle.fleets import scrape
from tests.oracle.ledger import Ledger, ledger
from tests.oracle.plans import Plan
from tests.oracle.samples import Sample


def settled(plan: Plan) -> tuple[list[Sample], Ledger]:
    """Samples and ledger; a fleet without a metric is no case."""
    samples = scrape(plan)
    assume(any(sample.name != "up" for sample in samples))
    return samples, ledger(samples, plan.setup)
