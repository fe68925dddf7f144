"""Each test of the record starts without facts of others."""

from tests.integration.accounting.conftest import no_facts_of_others

__all__ = ["no_facts_of_others"]
