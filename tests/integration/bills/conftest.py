"""Fixtures that these tests share with other subjects."""

from tests.integration.budgets.conftest import ledger as ledger  # noqa: PLC0414
from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414
