"""The audit log names who did each step of a quota change, and for whom a worker did it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounting.access.models.teams import Team
from accounting.kit.audit import act
from accounting.metering.reads.resources import added_names
from accounting.organization.reads.audit_entries import (
    AuditFilter,
    AuditRow,
    audit_rows,
)
from scheduler_view.changes.actions.change_sets import (
    approve,
    create,
    request_apply,
    request_plan,
)
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.changes.rules.given_edit import edits_from
from tests.integration.changes.office import REASON, Office, quota
from tests.integration.conftest import SignIn
from tests.page_html import html_of


def requested(office: Office, **more: Any) -> ChangeSet:
    """What Luis asks for, and Ana plans."""
    draft = Draft(edits_from([quota(4)], added_names()), REASON, **more)
    change = create(cluster=office.cluster, draft=draft, actor="luis", at=office.now())
    request_plan(change, version=change.version, actor="ana", at=office.now())
    office.work()
    change.refresh_from_db()
    return change


def logged(what: str) -> list[AuditRow]:
    """The lines of one kind, newest first."""
    connection.check_constraints()  # as a commit does: the chain is made then
    return list(audit_rows(AuditFilter(what=what)))


def steps() -> list[AuditRow]:
    """Changes of state, oldest first."""
    rows = logged("changeset")
    return [row for row in reversed(rows) if "state" in row.after]


def who(row: AuditRow) -> tuple[str, str, bool, str]:
    return str(row.after["state"]), row.actor, row.by_worker, row.requested_by


def test_each_step_names_who_did_it(both: Office) -> None:
    change = requested(both)
    approve(change, version=change.version, actor="ana", at=both.now())
    request_apply(change, version=change.version, actor="finn", at=both.now())
    both.work()
    assert [who(row) for row in steps()] == [
        ("draft", "luis", False, ""),
        ("planned", "ana", True, "luis"),
        ("approved", "ana", False, ""),
        ("applying", "finn", True, "luis"),
        ("applied", "finn", True, "luis"),
    ]
    (target,) = logged("quotatarget")
    assert (target.actor, target.by_worker, target.requested_by) == (
        *("finn", True, "luis"),
    )


def test_what_starts_at_its_time_is_for_who_approved_it(both: Office) -> None:
    change = requested(both, starts_at=both.now() + timedelta(hours=2))
    approve(change, version=change.version, actor="ana", at=both.now())
    both.ahead = timedelta(hours=3)
    both.work()
    assert who(steps()[-1]) == ("applied", "ana", True, "luis")


def test_a_plan_that_fails_is_for_who_requested_it(both: Office) -> None:
    draft = Draft(edits_from([quota(4)], added_names()), REASON)
    change = create(cluster=both.cluster, draft=draft, actor="luis", at=both.now())
    both.applied(quota(6))
    request_plan(change, version=change.version, actor="ana", at=both.now())
    both.work()
    newest = next(row for row in logged("changeset") if row.object_id == change.pk)
    assert "error" in newest.after
    assert (newest.actor, newest.by_worker) == ("ana", True)


@pytest.mark.django_db
def test_the_page_says_for_whom_a_worker_did_it(sign_in: SignIn) -> None:
    with act("ana", "as agreed", by_worker=True, requested_by="luis"):
        Team.objects.create(slug="sealed-a", name="Sealed A")
    with act("ana", "as agreed", requested_by="ana"):
        Team.objects.create(slug="sealed-b", name="Sealed B")
    connection.check_constraints()
    page = html_of(sign_in("ana").get("/audit?what=team"))
    assert page.count("worker, for ana") == 1
    assert page.count("requested by luis") == 1
    assert "requested by ana" not in page
    (first, second) = sign_in("ana").get("/api/v1/audit?what=team").json()["rows"][:2]
    assert (first["by_worker"], first["requested_by"]) == (False, "")
    assert (second["by_worker"], second["requested_by"]) == (True, "luis")
    asked = sign_in("ana").get("/api/v1/audit?what=team&actor=luis").json()["rows"]
    assert [row["id"] for row in asked] == [second["id"]]
    page = html_of(sign_in("ana").get("/audit?what=team&actor=luis"))
    assert "requested by luis" in page
