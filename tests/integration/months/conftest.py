"""Empty billing days for each test, in a transaction that is rolled back."""

import pytest

from tests.integration.accounting.booking.days import Days


@pytest.fixture
def days(db: None) -> Days:
    """No usage, no prices; billing in EUR and in Berlin."""
    del db
    return Days()
