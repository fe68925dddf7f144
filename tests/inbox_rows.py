"""Rows of everything that can wait for a person, for tests of the inbox."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from accounting.metering.models.ledger import DataIssue
from accounting.months.models.close import CloseOverride
from accounting.months.models.contest import Contest, ContestStep
from accounting.months.models.period import PeriodRevision
from accounting.prices.models.price_draft import PriceDraft
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import QuotaEdit, edit_fields
from scheduler_view.clusters.models import Drift
from tests.story import Story

NOW = datetime(2026, 11, 20, 14, 35, tzinfo=UTC)
REASON = "Agreed in the round of November."
HOUR = timedelta(hours=1)
OPTIONS = {
    **dict.fromkeys(("map", "set", "where", "alias"), ()),
    "pick": "",
    "keep_unknown": False,
    "price_list": "",
}
CHANGE = "Approve CS-{}, Vision: 8 GPUs"
DRIFT = "Quota of vision-prod differs from north: 40 here, 44 there"
OVERRIDE = "Confirm: close October 2026 despite the check Coverage"
CLOSE = "Close October 2026"
CONTEST, ANSWERED = "Answer the contest of Vision", "Contest of Vision is answered"
PRICES = "Save the price list of fin"
NAMESPACE, MODEL = "Namespace scratch has no team", "NVIDIA-A10 has no price"


def user(name: str) -> User:
    return get_user_model().objects.get(username=name)


def change(story: Story, by: str, slug: str = "vision", **values: Any) -> ChangeSet:
    """A change set of one quota."""
    edit = edit_fields(QuotaEdit(slug, "nvidia.com/gpu", 8))
    return ChangeSet.objects.create(
        cluster=story.cluster,
        author=user(by),
        author_name=by,
        reason=REASON,
        made_at=NOW - 30 * HOUR,
        edits=[edit],
        **values,
    )


def contest(story: Story, state: str, by: str, slug: str = "vision") -> Contest:
    """A contest whose last step is two hours old."""
    made = Contest.objects.create(
        team=story.teams[slug],
        period="2026-09" if state == "answered" else "2026-10",
        revision=1,
        of="statement",
        title="The whole statement",
        amount="1905.25",
        currency="EUR",
        state=state,
    )
    act = {"open": "contested", "answered": "answered"}[state]
    ContestStep.objects.create(
        contest=made,
        act=act,
        text=REASON,
        by=user(by),
        at=NOW - 2 * HOUR,
        answer="reason" if act == "answered" else "",
    )
    return made


def issue(story: Story, code: str, subject: str, **values: Any) -> DataIssue:
    return DataIssue.objects.create(
        **{
            "cluster": story.cluster,
            "code": code,
            "subject": subject,
            "severity": "warning",
            "message": "-",
            "first_seen": NOW - 90 * HOUR,
            "last_seen": NOW,
            "at_stake_ms": 7_200_000,
            **values,
        }
    )


def decisions(story: Story, now: datetime = NOW) -> str:
    """A change set, a difference, an override and a contest; what the change set is called."""
    number = change(story, "luis").pk
    Drift.objects.create(
        cluster=story.cluster,
        kind="ResourceQuota",
        namespace="vision-prod",
        name="gpu-ledger",
        state="differs",
        since=NOW - 10 * HOUR,
        changes=[["spec.hard.requests.nvidia.com/gpu", "40", "44"]],
        who="kubectl",
        basis="-",
    )
    CloseOverride.objects.create(
        period="2026-10",
        revision=1,
        code="coverage",
        seen={},
        reason=REASON,
        requested_by=user("fin"),
        requested_at=now - HOUR,
    )
    contest(story, "open", "luis")
    return CHANGE.format(number)


def settled_month(period: str = "2026-10", revision: int = 1) -> PeriodRevision:
    """A month that is booked and open; it ended with October, whatever its name is."""
    return PeriodRevision.objects.create(
        period=period,
        revision=revision,
        starts_at=datetime(2026, 9, 30, 22, tzinfo=UTC),
        ends_at=datetime(2026, 10, 31, 23, tzinfo=UTC),
        timezone="Europe/Berlin",
        currency="EUR",
        minor_places=2,
        method="alloc-v1",
        booked_at=NOW,
        payable=100,
    )


def every_kind(story: Story) -> str:
    """One row of each kind; what that of the change set is called."""
    what = decisions(story)
    settled_month()
    PriceDraft.objects.create(
        text="model,rate\n",
        options=OPTIONS,
        reason=REASON,
        author=user("fin"),
        made_at=NOW - 5 * HOUR,
    )
    issue(story, "unmapped_namespace", "scratch")
    issue(story, "unpriced_gpu", "NVIDIA-A10", severity="error")
    return what
