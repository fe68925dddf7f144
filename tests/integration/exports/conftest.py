"""Usage that the engine books, and a booking of random lines whose files workers write."""

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.integration.exports.bookings import book, random_lines
from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414
from tests.integration.months.conftest import days as days  # noqa: PLC0414


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    """The folder of the workers' files."""
    found = tmp_path / "exports"
    settings.EXPORT_FOLDER = found
    return found


@pytest.fixture
def lines(transactional_db: None, folder: Path) -> int:
    """A closed month of random lines; their number."""
    del transactional_db, folder
    found = random_lines(7, 150)
    book(found)
    return len(found)
