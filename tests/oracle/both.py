"""What the oracle says of samples, once the domain has said the same."""

from collections.abc import Sequence

from tests.oracle.comparison import differing, none_of
from tests.oracle.domain import computed
from tests.oracle.ledger import Ledger, ledger
from tests.oracle.samples import Sample
from tests.oracle.setup import PLAIN, Setup


def differs(samples: Sequence[Sample], setup: Setup, book: Ledger) -> list[str]:
    """What the domain says other than the rules, one line each."""
    facts, holds = computed(samples, setup)
    return differing(facts, holds, book)


def both(samples: Sequence[Sample], setup: Setup = PLAIN) -> Ledger:
    """The ledger by the oracle; every hold and fact of the domain is the same."""
    book = ledger(samples, setup)
    none_of(differs(samples, setup, book))
    return book
