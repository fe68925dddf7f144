"""Books for each test, in a transaction that is rolled back."""

from pathlib import Path

import pytest

from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414
from tests.integration.prices.books import Books


@pytest.fixture
def books(db: None, tmp_path: Path) -> Books:
    """Empty books."""
    del db
    return Books(tmp_path)
