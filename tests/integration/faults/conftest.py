"""Fault tests start without facts, like the tests of the importer."""

from tests.integration.metering.conftest import no_facts_of_others

__all__ = ["no_facts_of_others"]
