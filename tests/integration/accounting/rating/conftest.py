"""Books for each test, in a transaction that is rolled back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounting.ingest.facts import partitions
from tests.integration.accounting.rating.books import Books


@pytest.fixture
def books(db: None, tmp_path: Path) -> Iterator[Books]:
    """Empty books."""
    del db
    partitions.forget_known()
    yield Books(tmp_path)
    partitions.forget_known()
