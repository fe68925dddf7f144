"""Empty billing days for each test, in a transaction that is rolled back."""

from collections.abc import Iterator

import pytest

from accounting.ingest.facts import partitions
from tests.integration.accounting.booking.days import Days


@pytest.fixture
def days(db: None) -> Iterator[Days]:
    """No usage, no prices; billing in EUR and in Berlin."""
    del db
    yield Days()
    partitions.forget_known()
