"""An API server that fails while a change is applied: said, waited for, ended once.

Aspects: 429 with Retry-After, hang, reset, 5xx, refused connections, wrong credentials, one of
three clusters down, patience that ends. A server that is killed: `test_server_killed.py`.
"""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions import due_work, ending
from scheduler_view.changes.actions.change_sets import ChangeRefused, undo
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.live import LiveObject
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from scheduler_view.quotas.models import QuotaTarget
from tests.control_plane.faulty import failing, response
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.office import EPOCH, Office, quota

pytestmark = [pytest.mark.django_db, pytest.mark.control_plane]
BUSY = response(429, b"busy", "Retry-After: 60")
BROKEN = response(503, b"down for repair")


def speak_to(office: Office, url: str, *roles: str) -> None:
    """Let some identities speak to another server."""
    settings = dict(office.world.settings) | {"timeout_s": 0.5}
    for role in roles:
        settings[role] = {"server": url, "token_file": settings[role]["token_file"]}
    office.cluster.kubernetes = settings
    office.cluster.save()


def heal(office: Office) -> None:
    office.cluster.kubernetes = office.world.settings
    office.cluster.save()


def asked(office: Office, change_set: ChangeSet) -> ChangeSet:
    office.apply(change_set)
    return change_set


@pytest.mark.parametrize(
    ("fault", "message", "rest_s"),
    [
        ({"answer": BUSY}, "busy", 60),
        ({"answer": BROKEN}, "down for repair", 5),
        ({}, "", 5),
        ({"is_reset": True}, "", 5),
    ],
    ids=["429", "503", "hang", "reset"],
)
def test_a_temporary_fault_is_waited_for(
    office: Office, fault: Mapping[str, Any], message: str, rest_s: int
) -> None:
    change_set = office.agreed(quota(4))
    with failing(**fault) as server:
        speak_to(office, server.url, "pusher")
        asked(office, change_set)
        sent = len(server.seen)
    assert change_set.state == "applying"
    assert message in change_set.error
    assert change_set.retry_at is not None
    rest = (change_set.retry_at - office.now()).total_seconds()
    assert rest_s - 5 < rest <= rest_s
    assert sent == 1, "nothing is sent twice in one go"
    assert not QuotaTarget.objects.exists()
    heal(office)
    assert office.work() == 0  # not before the time
    office.ahead = timedelta(seconds=rest_s + 1)
    office.work()
    change_set.refresh_from_db()
    assert (change_set.state, change_set.error) == ("applied", "")
    assert change_set.applied_at is not None
    assert change_set.apply_wanted_at is not None
    took = change_set.applied_at - change_set.apply_wanted_at
    assert took >= timedelta(seconds=rest_s), "it is the end, not the beginning"
    assert office.hard() == {GPU_KEY: "4"}


def test_patience_ends_and_the_last_words_stay(office: Office) -> None:
    change_set = office.agreed(quota(4))
    with failing(BROKEN) as server:
        speak_to(office, server.url, "pusher")
        asked(office, change_set)
        office.ahead = timedelta(minutes=16)
        office.work()
    change_set.refresh_from_db()
    assert change_set.state == "refused"
    assert "down for repair" in change_set.error


def jwt(expires: datetime, issued: datetime = EPOCH) -> str:
    """A token of a service account; its signature is wrong."""
    claims = {"iat": int(issued.timestamp()), "exp": int(expires.timestamp())}
    text = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{text}.c2ln"


@pytest.mark.parametrize("role", ["reader", "pusher"])
@pytest.mark.parametrize("is_jwt", [True, False])
def test_a_token_that_expired_is_named_and_waited_for(
    office: Office, tmp_path: Path, role: str, *, is_jwt: bool
) -> None:
    change_set = office.agreed(quota(4), quota(2, "speech"))
    old = tmp_path / "old.token"
    ended = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    old.write_text(jwt(ended) if is_jwt else "no such token")
    settings = dict(office.world.settings)
    good = Path(settings[role]["token_file"]).read_text()
    office.cluster.kubernetes = settings | {
        role: settings[role] | {"token_file": str(old)}
    }
    office.cluster.save()
    asked(office, change_set)
    assert change_set.state == "applying"
    assert "Unauthorized" in change_set.error
    words = "expired at 2026-01-02 03:04 UTC" if is_jwt else "does not accept the token"
    assert words in change_set.error
    assert str(old) in change_set.error
    assert not office.has_quota()
    office.ahead = timedelta(hours=20)  # nobody was at work
    for _ in range(25):
        office.work()
        office.ahead += timedelta(seconds=61)
    change_set.refresh_from_db()
    assert change_set.state == "applying", change_set.error
    old.write_text(good)
    office.work()
    change_set.refresh_from_db()
    assert (change_set.state, change_set.error) == ("applied", "")
    assert change_set.approved_by == "luis"
    assert office.hard() == {GPU_KEY: "4"}


def test_a_fault_after_a_wait_for_a_token_is_waited_for_anew(
    office: Office, tmp_path: Path
) -> None:
    """The wait is no time without progress: the first 503 afterwards ended it."""
    change_set = office.agreed(quota(4))
    wrong = tmp_path / "wrong"
    wrong.write_text("no such token")
    settings = dict(office.world.settings)
    office.cluster.kubernetes = settings | {
        "pusher": settings["pusher"] | {"token_file": str(wrong)}
    }
    office.cluster.save()
    asked(office, change_set)
    for minutes in (10, 90):
        office.ahead = timedelta(minutes=minutes)
        office.work()
    with failing(BROKEN) as server:
        speak_to(office, server.url, "pusher")
        office.ahead += timedelta(minutes=2)
        office.work()
        change_set.refresh_from_db()
        assert change_set.state == "applying", change_set.error
        assert "down for repair" in change_set.error
    heal(office)
    office.ahead += timedelta(minutes=2)
    office.work()
    change_set.refresh_from_db()
    assert change_set.state == "applied"


def test_a_token_that_nobody_renews_ends_it_after_a_day(
    office: Office, tmp_path: Path
) -> None:
    change_set = office.agreed(quota(4))
    wrong = tmp_path / "wrong"
    wrong.write_text("no such token")
    settings = dict(office.world.settings)
    office.cluster.kubernetes = settings | {
        "pusher": settings["pusher"] | {"token_file": str(wrong)}
    }
    office.cluster.save()
    asked(office, change_set)
    office.ahead = timedelta(hours=25)
    office.work()
    change_set.refresh_from_db()
    assert change_set.state == "refused"
    assert {step.code for step in change_set.steps.all()} == {401}
    assert str(wrong) in change_set.error


def test_a_cluster_that_cannot_be_read_leaves_a_draft_that_says_so(
    office: Office,
) -> None:
    with failing(BROKEN) as server:
        speak_to(office, server.url, "reader", "pusher")
        change_set = office.planned(quota(4))
    assert change_set.state == "draft"
    assert "cannot be read: down for repair" in change_set.error
    heal(office)
    assert office.plan(change_set).state == "planned"


def test_one_cluster_that_is_down_does_not_hold_up_the_others(office: Office) -> None:
    names = [office.world.name, "down", "bare"]
    for name in names[1:]:
        Cluster.objects.create(name=name)
    down = Cluster.objects.get(name="down")
    with failing(BROKEN) as server:
        token = office.world.settings["reader"]["token_file"]
        access = {"server": server.url, "token_file": token}
        down.kubernetes = {"reader": access, "pusher": access}
        down.save()
        found = {}
        for cluster in Cluster.objects.filter(name__in=names):
            place = Office(office.world, cluster)
            found[cluster.name] = place.planned(quota(4))
    assert found[office.world.name].state == "planned"
    assert "down for repair" in found["down"].error
    assert "is not set" in found["bare"].error


def with_token(office: Office, file: Path, token: str) -> None:
    """Let the pusher read its token from a file of this test."""
    file.write_text(token)
    settings = dict(office.world.settings)
    pusher = settings["pusher"] | {"token_file": str(file)}
    office.cluster.kubernetes = settings | {"pusher": pusher}
    office.cluster.save()


def test_one_that_waits_for_a_token_can_be_discarded(
    office: Office, tmp_path: Path
) -> None:
    change_set = office.agreed(quota(4))
    with_token(office, tmp_path / "expiring", "no such token")
    asked(office, change_set)
    assert change_set.waits_for_token
    how: dict[str, Any] = {"version": change_set.version, "at": office.now()}
    with pytest.raises(ChangeRefused, match="belongs to another person"):
        ending.discard(change_set, actor="luis", reason="discard it", **how)
    held = {"lease_until": office.now() + timedelta(seconds=9)}
    ChangeSet.objects.filter(pk=change_set.pk).update(**held)
    with pytest.raises(ChangeRefused, match="a worker is trying CS-"):
        ending.discard(change_set, actor="ana", reason="discard it", **how)
    ChangeSet.objects.filter(pk=change_set.pk).update(lease_until=None)
    ending.discard(change_set, actor="ana", reason="discard it", **how)
    assert (change_set.state, change_set.error) == ("discarded", "")
    (step,) = change_set.steps.all()
    assert (step.state, step.message) == (
        "refused",
        "Not sent. Discarded by ana while it waited for a token.",
    )
    heal(office)
    office.ahead += timedelta(minutes=5)
    office.work()
    change_set.refresh_from_db()
    assert change_set.state == "discarded"
    assert not office.has_quota()
    assert not QuotaTarget.objects.exists()
    history = apps.get_model("scheduler_view", "ChangeSetEvent")._default_manager
    last = history.latest("pgh_id")
    assert last.state == "discarded"
    assert (last.pgh_context.metadata["actor"], last.ended_by) == ("ana", "ana")


def test_what_was_applied_before_a_wait_for_a_token_stays_and_is_said(
    office: Office, tmp_path: Path
) -> None:
    change_set = office.agreed(quota(4), quota(2, "speech"))
    token = tmp_path / "expiring"
    with_token(
        office, token, Path(office.world.settings["pusher"]["token_file"]).read_text()
    )

    class Expiring(ClusterClient):
        """Our door; the token expires after the first object."""

        def apply(self, *args: Any, **named: Any) -> LiveObject:
            done = super().apply(*args, **named)
            token.write_text("no such token")
            return done

    def to_expire(cluster: Cluster, role: AccessRole) -> ClusterClient:
        return Expiring(connect_to(cluster, role).access)

    ChangeSet.objects.update(apply_wanted_at=office.now())
    due_work.work(office.cluster.pk, now=office.now, connect=to_expire)
    change_set.refresh_from_db()
    assert change_set.waits_for_token, change_set.error
    ending.decline(
        change_set,
        version=change_set.version,
        actor="luis",
        reason="No new token before the review",
        at=office.now(),
    )
    assert change_set.state == "partly_applied"
    assert change_set.error == (
        "Declined by luis while it waited for a token. 1 of 2 objects was applied and stays."
    )
    assert sorted(change_set.steps.values_list("state", flat=True)) == [
        "applied",
        "refused",
    ]
    heal(office)
    again = ChangeSet.objects.get(pk=change_set.pk)
    back = undo(again, actor="ana", reason="Give it back now", at=office.now())
    assert office.plan(back).state == "planned", back.error
