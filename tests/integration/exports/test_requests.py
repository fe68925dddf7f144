"""Requests of files that workers write: limits, canceling, repeating, and who reads them.

Not here: how a worker writes them (`test_jobs.py`).
"""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, NOTHING, Scope
from accounting.exports.actions import (
    MOST_QUEUED,
    cancel_export,
    repeat_export,
    request_export,
)
from accounting.exports.models import ExportJob
from accounting.exports.reads import export_job, export_key, export_row, export_rows
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks import jobs
from accounting.exports.tasks.jobs import folder_of, next_job, path_of, run_job
from accounting.exports.tasks.request import ExportError, ExportRequest
from accounting.kit.outcomes import Refused
from accounting.kit.reads.paging import Seek
from accounting.kit.wakeup import WRITE_EXPORTS
from accounting.tasks import write_exports
from tests.integration.exports.queued_jobs import FOCUS, NOW, queued
from tests.integration.wakeups import sent_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_is_in_the_audit_log_once(lines: int) -> None:
    assert lines
    queued()
    write_exports()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pgh_label FROM accounting_exportjobevent")
        assert cursor.fetchall() == [("insert",)]


def test_a_request_wakes_a_worker(
    lines: int, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines
    with sent_tasks(redis_url, monkeypatch) as sent:
        queued()
    assert sent == [(WRITE_EXPORTS, "()")]
    assert write_exports.name == WRITE_EXPORTS


def test_a_wrong_request_is_refused_at_once(lines: int) -> None:
    assert lines
    with pytest.raises(ExportError, match="nobody has no statement"):
        queued(ExportRequest(What.FOCUS, "2026-10", team="nobody"))
    assert not ExportJob.objects.exists()


def test_a_person_may_have_only_so_many_unfinished(lines: int) -> None:
    assert lines
    person = get_user_model().objects.create(username="fin")
    for _ in range(MOST_QUEUED):
        request_export(FOCUS, actor=person, now=NOW)
    with pytest.raises(Refused, match="wait for one of them"):
        request_export(FOCUS, actor=person, now=NOW)


def test_a_canceled_job_leaves_nothing_and_can_be_requested_again(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines
    monkeypatch.setattr(jobs, "SIGN_S", 0)
    person = get_user_model().objects.create(username="fin")
    waiting, running = queued(), queued()
    assert cancel_export(waiting, actor=person)
    mine = next_job()
    assert mine == running  # the other one is not started
    assert cancel_export(running, actor=person)
    assert not run_job(mine)
    for job in (waiting, running):
        job.refresh_from_db()
        row = export_row(job)
        assert (row.state, row.error) == ("failed", "canceled by fin")
        assert row.may_be_repeated
        assert not folder_of(job).exists()
        assert not cancel_export(job, actor=person)  # finished already
    again = repeat_export(running, actor=person, now=NOW)
    assert export_row(again).is_unfinished
    write_exports()
    again.refresh_from_db()
    assert path_of(again) is not None
    assert not cancel_export(again, actor=person)
    assert path_of(again) is not None


def test_leads_see_the_files_of_their_teams_only(lines: int) -> None:
    assert lines
    vision = Team.objects.create(slug="vision", name="Vision")
    mine = queued(ExportRequest(What.CHARGES, "2026-10", team="vision"))
    whole = queued()
    lead = Scope(frozenset({vision.pk}), lead_of=frozenset({vision.pk}))
    viewer = Scope(frozenset({vision.pk}))
    assert [row.id for row in export_rows(EVERYTHING)] == [whole.pk, mine.pk]
    assert [row.id for row in export_rows(lead)] == [mine.pk]
    assert export_rows(viewer) == export_rows(NOTHING) == []
    assert export_job(lead, whole.pk) is None
    assert export_job(lead, mine.pk) == mine
    (first,) = export_rows(EVERYTHING, Seek(limit=1))
    (second,) = export_rows(EVERYTHING, Seek(export_key(first), 1))
    assert (first.profile, second.profile) == ("focus-1.4", "")
    assert second.id == mine.pk
