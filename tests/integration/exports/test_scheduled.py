"""Files of every closed month that workers write without a request.

Not here: what is in a file (`test_csv.py`, `test_files.py`).
"""

from pathlib import Path

import pytest
from pytest_django import Settings

from accounting.exports.tasks.scheduled import write_scheduled
from accounting.months.models.period import PeriodRevision
from tests.integration.exports.bookings import book, random_lines
from tests.integration.exports.queued_jobs import NOW
from tests.integration.months.people import reopening

pytestmark = pytest.mark.django_db(transaction=True)


def test_scheduled_files_follow_each_close(
    lines: int, tmp_path: Path, settings: Settings
) -> None:
    assert lines
    target = tmp_path / "for-finance"
    target.mkdir()
    settings.SCHEDULED_EXPORTS = ["focus-1.4:csv", "focus-1.2:csv", "statements:xlsx"]
    assert write_scheduled() == []  # no folder is set
    settings.SCHEDULED_EXPORT_FOLDER = target
    names = {
        "gpu-ledger_focus-1.4_2026-10_r1.csv",
        "gpu-ledger_focus-1.2_2026-10_r1.csv",
        "gpu-ledger_statements_2026-10_r1.xlsx",
    }
    assert {one.path.name for one in write_scheduled()} == names
    assert write_scheduled() == []
    (target / "gpu-ledger_focus-1.4_2026-10_r1.csv.metadata.json").unlink()
    (again,) = write_scheduled()  # killed between the two files
    assert again.path.name == "gpu-ledger_focus-1.4_2026-10_r1.csv"
    PeriodRevision.objects.update(**reopening(NOW))
    book(random_lines(8, 20), revision=2)
    assert {one.path.name for one in write_scheduled()} == {
        name.replace("r1", "r2") for name in names
    }
