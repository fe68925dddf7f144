"""The page of exports: what is sent at once, what a worker writes, who sees and cancels it.

Not here: how a worker writes files (`integration/exports`).
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from accounting.exports.models import ExportJob
from accounting.exports.pages import exports
from accounting.exports.tasks import jobs, request, xlsx_file
from accounting.exports.tasks.jobs import path_of
from accounting.months.models.charge import RunningLine
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.pages import charges
from accounting.months.tasks.running import book_running
from accounting.tasks import write_exports
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

WHOLE = {"content": "charges", "month": "2026-11", "team": "", "format": "csv"}


@pytest.fixture(autouse=True)
def november(
    story: Story, db: None, tmp_path: Path, settings: Settings
) -> Iterator[None]:
    """November, running, at the end of the story."""
    del story, db
    settings.EXPORT_FOLDER = tmp_path
    with time_machine.travel(NOW, tick=False):
        book_running("2026-11")
        yield


def text_of(answer: object) -> str:
    """A page without tags, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", html_of(answer)).split())


def requested(client: Client, **values: str) -> int:
    return client.post("/exports", WHOLE | values).status_code


def test_a_small_file_is_sent_at_once(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    sent = fin.post("/exports", WHOLE | {"content": "focus-1.2", "team": "vision"})
    assert sent.status_code == 302
    found = fin.get(sent["Location"])
    name = "gpu-ledger_focus-1.2_2026-11_running_vision.csv"
    assert name in found["Content-Disposition"]
    data = b"".join(found.streaming_content)  # type: ignore[attr-defined]
    assert b"x_AllocatedMethodId" in data
    assert not ExportJob.objects.exists()


def test_a_file_in_the_background_is_listed_until_it_can_be_downloaded(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "SIGN_S", float("inf"))  # another connection sees no job
    fin = sign_in("fin")
    assert "No files yet" in text_of(fin.get("/exports"))
    assert requested(fin, background="on") == 302
    page = html_of(fin.get("/exports"))
    assert "Queued" in page
    assert 'hx-trigger="every 2s"' in page
    job = ExportJob.objects.get()
    assert fin.get(f"/exports/{job.pk}/file").status_code == 409
    write_exports()
    job.refresh_from_db()
    part = fin.get("/exports", headers={"HX-Request": "true"})
    assert "<h1" not in html_of(part)
    assert f"{job.rows_total:,}" in text_of(part)
    assert job.sha256 in html_of(part)
    assert "every 2s" not in html_of(part)
    path = path_of(job)
    assert path is not None
    found = fin.get(f"/exports/{job.pk}/file", headers={"Range": "bytes=10-"})
    assert b"".join(found.streaming_content) == path.read_bytes()[10:]  # type: ignore[attr-defined]


def test_more_than_a_million_rows_need_a_worker(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert request.MOST_STREAMED == 10**6
    for module in (charges, exports):
        monkeypatch.setattr(module, "MOST_STREAMED", 5)
    fin = sign_in("fin")
    assert requested(fin) == 302
    assert ExportJob.objects.count() == 1
    refused = fin.get("/months/2026-11/files/charges")
    assert refused.status_code == 400
    assert "written in the background" in text_of(refused)


def test_a_job_is_canceled_and_requested_again(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    requested(fin, background="on")
    number = ExportJob.objects.get().pk
    assert fin.post(f"/exports/{number}/cancel").status_code == 302
    page = text_of(fin.get("/exports"))
    assert "Canceled by fin" in page
    fin.post(f"/exports/{number}/cancel")
    assert "finished already" in text_of(fin.get("/exports"))
    fin.post(f"/exports/{number}/repeat")
    assert ExportJob.objects.count() == 2


def test_leads_request_and_see_files_of_their_teams_only(sign_in: SignIn) -> None:
    luis, fin = sign_in("luis"), sign_in("fin")
    assert requested(luis, background="on") == 422  # of all teams
    assert requested(luis, team="search", background="on") == 422
    assert requested(luis, team="vision", background="on") == 302
    requested(fin, background="on")
    whole, mine = ExportJob.objects.all()
    page = html_of(luis.get("/exports"))
    assert f"cancel-{mine.pk}" in page
    assert f"cancel-{whole.pk}" not in page
    assert "Scheduled files" not in page
    for step in ("cancel", "repeat"):
        assert luis.post(f"/exports/{whole.pk}/{step}").status_code == 404
    assert luis.get(f"/exports/{whole.pk}/file").status_code == 404


def test_scheduled_files_are_named(
    sign_in: SignIn, settings: Settings, tmp_path: Path
) -> None:
    fin = sign_in("fin")
    assert "No scheduled files" in text_of(fin.get("/exports"))
    settings.SCHEDULED_EXPORTS = ["focus-1.4:csv"]
    settings.SCHEDULED_EXPORT_FOLDER = tmp_path
    page = text_of(fin.get("/exports"))
    assert "focus-1.4:csv" in page
    assert str(tmp_path) in page


def test_formats_that_are_not_installed_are_not_offered(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    fin = sign_in("fin")
    assert "Not installed here" not in text_of(fin.get("/exports"))
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    monkeypatch.setattr(xlsx_file, "xlsxwriter", None)
    page = text_of(fin.get("/exports"))
    assert "Not installed here: XLSX." in page
    assert requested(fin, format="xlsx") == 422
    refused = fin.get("/months/2026-11/files/charges?format=xlsx")
    assert refused.status_code == 400
    assert "the extra &#x27;xlsx&#x27;" in html_of(refused)


def test_before_anything_is_booked_the_page_says_so(sign_in: SignIn) -> None:
    Statement.objects.all().delete()
    RunningLine.objects.all().delete()
    PeriodRevision.objects.all().delete()
    assert "Nothing is booked yet" in text_of(sign_in("fin").get("/exports"))
