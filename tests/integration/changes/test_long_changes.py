"""The page of a change set of 500 objects: small, and nothing of it out of reach."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from scheduler_view.changes.actions.joining import blocked_edits, leave_out_blocked
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from scheduler_view.changes.rules.edit import QuotaEdit, edit_fields
from tests.integration.changes.office import Office, quota, tier
from tests.integration.conftest import SignIn
from tests.page_html import html_of

MANY, LARGEST = 500, 300_000
KEY = "requests.nvidia.com/gpu"


@pytest.fixture
def long_change(desk: Office) -> ChangeSet:
    """500 planned quotas, of which the last two cannot be applied."""
    tiers = [f"tier-{number:03}" for number in range(MANY)]
    edits = [
        edit_fields(QuotaEdit("vision", "nvidia.com/gpu", number, tier))
        for number, tier in enumerate(tiers)
    ]
    now = timezone.now()
    change = ChangeSet.objects.create(
        cluster=desk.cluster,
        state=ChangeState.PLANNED,
        author_name="ana",
        reason="One quota for each of the 500 tiers. OPS-4812",
        edits=edits,
        plan={
            "summary": "500 quotas added",
            "effects": [
                {"text": f"Vision gets a quota of {n} GPUs in {tier}; it had none."}
                for n, tier in enumerate(tiers)
            ],
            "warnings": [],
        },
        planned_at=now,
        plan_expires_at=now + timedelta(hours=1),
    )
    ChangeStep.objects.bulk_create(
        _step(change, n, tier) for n, tier in enumerate(tiers)
    )
    return change


def _step(change: ChangeSet, number: int, tier: str) -> ChangeStep:
    name = f"gpu-ledger-{tier}"
    meta = {"name": name, "namespace": "vision-prod"}
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {**meta, "labels": {"app.kubernetes.io/managed-by": "gpu-ledger"}},
        "spec": {"hard": {KEY: str(number)}},
    }
    conflict = number >= MANY - 2
    return ChangeStep(
        change_set=change,
        position=number,
        kind="ResourceQuota",
        namespace="vision-prod",
        name=name,
        action="change" if conflict else "create",
        body=body,
        before={**body, "spec": {"hard": {KEY: "7"}}} if conflict else None,
        changes=[[f"spec.hard.{KEY}", "7" if conflict else None, str(number)]],
        others={f"spec.hard.{KEY}": "kubectl"} if conflict else {},
        blocked="kubectl manages it" if conflict else "",
    )


def objects_of(page: str) -> list[str]:
    """Names of the objects in the table, in its order."""
    table = page[page.index('class="stacks objects"') : page.index("</table>")]
    return re.findall(
        r'<span class="mono">ResourceQuota vision-prod/(\S+)</span>', table
    )


def test_a_change_of_500_objects_is_a_small_page(
    long_change: ChangeSet, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    path = f"/changes/{long_change.pk}"
    answers: list[Any] = [ana.get(f"{path}?page={n}&edits={n}") for n in range(1, 11)]
    pages = [html_of(one) for one in answers]
    assert max(len(one.content) for one in answers) < LARGEST
    assert len(html_of(ana.get(f"{path}?diff=side"))) < LARGEST
    seen = [name for page in pages for name in objects_of(page)]
    assert len(seen) == len(set(seen)) == MANY
    assert seen[:3] == [f"gpu-ledger-tier-{n}" for n in ("498", "499", "000")]
    edits = [
        int(n) for page in pages for n in re.findall(r'name="edit" value="(\d+)"', page)
    ]
    assert edits == list(range(MANY))
    assert "450 more" in pages[0]
    assert "it had none" in pages[0].rpartition("tier-499")[2]


def test_yaml_of_many_objects_is_asked_for(
    long_change: ChangeSet, sign_in: SignIn
) -> None:
    ana, path = sign_in("ana"), f"/changes/{long_change.pk}"
    page = html_of(ana.get(f"{path}?page=2"))
    assert 'href="?page=2&amp;diff=unified#diffs"' in page
    assert "managed-by: gpu-ledger" not in page
    shown = html_of(ana.get(f"{path}?page=2&diff=unified"))
    assert shown.count("managed-by: gpu-ledger") == 50


def test_every_conflict_can_be_chosen_on_every_page(
    long_change: ChangeSet, sign_in: SignIn
) -> None:
    ana = sign_in("ana")
    for number in (1, 7):
        page = html_of(ana.get(f"/changes/{long_change.pk}?page={number}"))
        assert re.findall(r'name="force"\s+value="(\S+ \S+)"', page) == [
            f"ResourceQuota vision-prod/gpu-ledger-tier-{n}" for n in (498, 499)
        ]


def test_a_tier_is_left_out_whose_class_cannot_be_removed(desk: Office) -> None:
    """The plan does not name the classes of a tier that it removes."""
    made = desk.draft(tier("batch", 1_000, remove=True), quota(3))
    desk.plan(made)
    step = made.steps.get(kind="PriorityClass")
    step.blocked = "kubectl manages it"
    step.save()
    assert blocked_edits(made) == [0]
    leave_out_blocked(made, version=made.version, actor="ana", at=timezone.now())
    made.refresh_from_db()
    assert [edit["kind"] for edit in made.edits] == ["quota"]
