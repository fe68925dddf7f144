"""Data health says when the newest file came, and what it covers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from accounting.access.scope import EVERYTHING
from accounting.health.reads.freshness import SourceRow, source_rows
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import run

pytestmark = pytest.mark.django_db(transaction=True)


def imported(folder: Path, first: int, last: int) -> SourceRow:
    text = Text()
    text.node("n1", 1, times(first, last))
    run("import_metrics", "--cluster=north", text.write(folder / f"{first}.om"))
    [row] = source_rows(EVERYTHING)
    return row


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_source_of_files_tells_its_newest_file(tmp_path: Path) -> None:
    begun = datetime.now(UTC)
    row = imported(tmp_path, HOUR_ZERO, HOUR_ZERO + 600)
    assert row.last_read_at is not None
    assert begun - timedelta(minutes=1) < row.last_read_at < begun + timedelta(hours=1)
    assert (row.file_from, row.file_to) == (at(HOUR_ZERO), at(HOUR_ZERO + 570))
    assert row.last_sample_at == at(HOUR_ZERO + 570)

    older = imported(tmp_path, HOUR_ZERO - 3600, HOUR_ZERO - 3000)
    assert (older.file_from, older.file_to) == (
        at(HOUR_ZERO - 3600),
        at(HOUR_ZERO - 3030),
    )
    assert older.last_sample_at == at(HOUR_ZERO + 570)  # of all that came
    assert older.last_read_at is not None
    assert older.last_read_at > row.last_read_at


def test_the_same_file_again_is_a_new_reading(tmp_path: Path) -> None:
    first = imported(tmp_path, HOUR_ZERO, HOUR_ZERO + 600)
    again = imported(tmp_path, HOUR_ZERO, HOUR_ZERO + 600)
    assert first.last_read_at is not None
    assert again.last_read_at is not None
    assert again.last_read_at > first.last_read_at
    assert (again.file_from, again.file_to) == (first.file_from, first.file_to)
