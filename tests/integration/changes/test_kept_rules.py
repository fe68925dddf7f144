"""A new number without a rule keeps how a quota is divided over namespaces."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import OrganizationRole, Person
from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.organization.actions.tokens import SCOPES, create_token
from scheduler_view.quotas.models import QuotaTarget
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.office import EPOCH, REASON, Office, quota


@pytest.fixture
def parted(both: Office) -> Office:
    """Vision has 99 GPUs in one namespace and 5 in another, as after adopting."""
    both.world.admin.make_namespace(second(both))
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob=second(both),
        team=Team.objects.get(slug="vision"),
        position=9,
        valid_from=EPOCH,
    )
    weights = {both.world.name: 99, second(both): 5}
    both.applied(quota(104, rule="weights", weights=weights))
    return both


def second(office: Office) -> str:
    return f"{office.world.name}-c"


def parts(office: Office) -> tuple[str, str]:
    return office.hard()[GPU_KEY], office.hard(second(office))[GPU_KEY]


def test_a_raise_without_a_rule_keeps_the_ratio(parted: Office) -> None:
    assert parts(parted) == ("99", "5")
    parted.applied(quota(208))
    assert parts(parted) == ("198", "10")
    target = QuotaTarget.objects.get()
    assert (target.rule, target.weights) == (
        "weights",
        {parted.world.name: 99, second(parted): 5},
    )
    parted.applied(quota(208, rule="evenly"))
    assert parts(parted) == ("104", "104")


def test_rest_keeps_it_too(parted: Office) -> None:
    ana = get_user_model().objects.create_user("ana")
    Person.objects.create(user=ana, role=OrganizationRole.ADMIN)
    _, secret = create_token(owner=ana, name="script", scopes=SCOPES)
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    edit: dict[str, Any] = {
        "kind": "quota",
        "team": "vision",
        "resource": "nvidia.com/gpu",
        "gpus": 208,
    }
    body = {"cluster": parted.cluster.name, "edits": [edit], "reason": REASON}
    answer = client.post("/api/v1/change-sets", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    stored = answer.json()["edits"][0]
    assert (stored["rule"], stored["weights"][second(parted)]) == ("weights", 5)


def test_namespaces_that_are_not_listed_have_no_quota(parted: Office) -> None:
    weights = {parted.world.name: 4}
    done = parted.applied(quota(4, rule="listed", weights=weights))
    assert parted.hard()[GPU_KEY] == "4"
    assert not parted.has_quota(second(parted))
    texts = [effect["text"] for effect in done.plan["effects"]]
    assert f"All 4 go to namespace {parted.world.name}." in texts
    parted.applied(quota(6))
    assert parted.hard()[GPU_KEY] == "6"
    assert not parted.has_quota(second(parted))
