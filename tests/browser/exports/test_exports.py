"""Exports in the browser: a requested file is followed without a reload, then downloaded.

Not here: what workers write (`integration/exports`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from playwright.sync_api import expect
from pytest_django import DjangoDbBlocker, Settings

from accounting.exports.models import ExportJob
from accounting.exports.tasks.jobs import folder_of
from accounting.months.tasks.running import book_running
from tests.browser.conftest import SignIn
from tests.browser.forget import forget_months
from tests.story import Story

LONG_MS = 60_000  # the machine of the tests may be busy


@pytest.fixture(scope="module", autouse=True)
def november(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """November, running."""
    del story
    with django_db_blocker.unblock():
        book_running("2026-11")
        yield
        ExportJob.objects.all().delete()
        forget_months()
    connection.close()


@pytest.fixture
def write(django_db_blocker: DjangoDbBlocker) -> Iterator[Callable[[str], None]]:
    """Changes the job as a worker does: committed, on a connection of its own."""
    with django_db_blocker.unblock():
        other = connection.copy()

    def _write(values: str) -> None:
        with django_db_blocker.unblock(), other.cursor() as cursor:
            cursor.execute(f"UPDATE accounting_exportjob SET {values}")  # noqa: S608

    yield _write
    other.close()


def test_a_requested_file_is_followed_until_it_can_be_downloaded(
    sign_in: SignIn,
    django_db_blocker: DjangoDbBlocker,
    write: Callable[[str], None],
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.EXPORT_FOLDER = tmp_path
    page = sign_in("fin").open("/exports")
    page.get_by_label("Rows", exact=True).select_option("charges")
    page.get_by_label("Write it in the background").check()
    page.get_by_role("button", name="Get this file").click()
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible(timeout=LONG_MS)
    cancel.focus()
    write("state = 'running', rows_total = 200, rows_written = 50")
    expect(page.get_by_text("25.0%")).to_be_visible(timeout=LONG_MS)
    expect(cancel).to_be_focused()  # what is drawn again keeps the focus
    with django_db_blocker.unblock():
        folder = folder_of(ExportJob.objects.get())
    folder.mkdir()
    (folder / "lines.csv").write_bytes(b"a,b\n1,2\n")
    write("state = 'done', file_name = 'lines.csv', sha256 = repeat('ab', 32)")
    download = page.get_by_role("link", name="Download lines.csv")
    expect(download).to_be_visible(timeout=LONG_MS)
    with page.expect_download() as found:
        download.click()
    assert found.value.suggested_filename == "lines.csv"
    assert found.value.path().read_bytes() == b"a,b\n1,2\n"
