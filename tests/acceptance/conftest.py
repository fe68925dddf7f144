"""Each test starts without facts."""

from tests.integration.accounting.conftest import no_facts_of_others

__all__ = ["no_facts_of_others"]
