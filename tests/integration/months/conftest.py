"""Empty billing days for each test, in a transaction that is rolled back."""

import pytest

from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414
from tests.integration.months.days import Days
from tests.integration.prices.conftest import books as books  # noqa: PLC0414


@pytest.fixture
def days(db: None) -> Days:
    """No usage, no prices; billing in EUR and in Berlin."""
    del db
    return Days()
