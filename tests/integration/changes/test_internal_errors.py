"""Faults that nobody foresaw: a change set says so and ends; it is not under way for ever.

Aspects: an exception in planning and in applying, workers that die each time, a plan that never
comes, one poisoned change set among others. Kills between steps: `test_kill`.
"""

from datetime import timedelta
from typing import Any

from django.db.models import F

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions import due_work
from scheduler_view.changes.actions.change_sets import request_apply, request_plan
from scheduler_view.changes.models import ChangeSet
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.client import ClusterClient
from scheduler_view.clusters.client.live import LiveObject
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from scheduler_view.quotas.models import QuotaTarget
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.office import Office, quota, steps


class Stumbling(ClusterClient):
    """Our door; the answer to the second object and those after it breaks us."""

    sent = 0

    def apply(self, *args: Any, **named: Any) -> LiveObject:
        Stumbling.sent += 1
        if Stumbling.sent > 1:
            raise KeyError("nobody\0foresaw this")
        return super().apply(*args, **named)


def to_stumble(cluster: Cluster, role: AccessRole) -> ClusterClient:
    Stumbling.sent = 0
    access = connect_to(cluster, role).access
    return Stumbling(access) if role == AccessRole.PUSHER else ClusterClient(access)


def ask_plan(office: Office, change_set: ChangeSet) -> None:
    request_plan(change_set, version=change_set.version, actor="ana", at=office.now())


def ask_apply(office: Office, change_set: ChangeSet) -> None:
    request_apply(change_set, version=change_set.version, actor="ana", at=office.now())


def test_a_plan_that_breaks_is_a_draft_that_says_so_and_holds_nobody_up(
    both: Office,
) -> None:
    first, second = both.draft(quota(4)), both.draft(quota(2, "speech"))
    ask_plan(both, first)
    ask_plan(both, second)
    left = [ValueError("one bad thing")]

    def to_break(cluster: Cluster, role: AccessRole) -> ClusterClient:
        if left:
            raise left.pop()
        return connect_to(cluster, role)

    due_work.work(both.cluster.pk, now=both.now, connect=to_break)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, first.plan_wanted_at) == ("draft", None)
    assert "could not plan this: ValueError: one bad thing" in first.error
    assert second.state == "planned"
    assert both.plan(first).state == "planned"
    assert first.error == ""


def test_an_apply_that_breaks_goes_on_where_it_was(both: Office) -> None:
    change_set = both.agreed(quota(4), quota(6, "speech"))
    other = both.draft(quota(5))
    ask_apply(both, change_set)
    ask_plan(both, other)
    due_work.work(both.cluster.pk, now=both.now, connect=to_stumble)
    change_set.refresh_from_db()
    assert change_set.state == "applying"
    assert "could not apply this: KeyError" in change_set.error
    assert sorted(state for *_, state in steps(change_set)) == ["applied", "sent"]
    other.refresh_from_db()
    assert other.plan_wanted_at is None
    both.ahead = timedelta(seconds=10)
    both.work()
    change_set.refresh_from_db()
    assert (change_set.state, change_set.error) == ("applied", "")
    assert both.hard(f"{both.world.name}-b") == {GPU_KEY: "6"}


def test_an_apply_that_always_breaks_ends_and_shows_its_half(both: Office) -> None:
    change_set = both.agreed(quota(4), quota(6, "speech"))
    ask_apply(both, change_set)
    due_work.work(both.cluster.pk, now=both.now, connect=to_stumble)
    both.ahead = timedelta(minutes=16)

    def to_break(cluster: Cluster, role: AccessRole) -> ClusterClient:
        raise OSError("the same again")

    due_work.work(both.cluster.pk, now=both.now, connect=to_break)
    change_set.refresh_from_db()
    assert change_set.state == "partly_applied"
    assert "could not apply this: OSError: the same again" in change_set.error
    assert "It was sent, but no response arrived" in change_set.error
    assert both.work() == 0
    assert QuotaTarget.objects.count() == 2  # what is wanted is what was asked


def test_progress_renews_patience(both: Office) -> None:
    """A change of many objects may take longer than the patience with one."""
    change_set = both.agreed(quota(4), quota(6, "speech"))
    ask_apply(both, change_set)
    long_ago = both.now() - timedelta(minutes=20)
    ChangeSet.objects.filter(pk=change_set.pk).update(
        apply_wanted_at=long_ago, plan_expires_at=F("plan_expires_at")
    )
    due_work.work(both.cluster.pk, now=both.now, connect=to_stumble)
    change_set.refresh_from_db()
    assert change_set.state == "applying"


def test_workers_that_die_each_time_are_stopped(both: Office) -> None:
    change_set = both.agreed(quota(4), quota(6, "speech"))
    ask_apply(both, change_set)
    due_work.work(both.cluster.pk, now=both.now, connect=to_stumble)
    both.ahead = timedelta(hours=2)
    ChangeSet.objects.filter(pk=change_set.pk).update(fence=40)
    both.work()
    change_set.refresh_from_db()
    assert change_set.state == "partly_applied"
    assert "gave up after 41 attempts" in change_set.error


def test_after_a_long_outage_the_rest_is_still_applied(both: Office) -> None:
    change_set = both.agreed(quota(4), quota(6, "speech"))
    ask_apply(both, change_set)
    due_work.work(both.cluster.pk, now=both.now, connect=to_stumble)
    both.ahead = timedelta(hours=2)
    both.work()
    change_set.refresh_from_db()
    assert change_set.state == "applied"


def test_a_plan_that_never_comes_is_given_up(both: Office) -> None:
    change_set = both.draft(quota(4))
    ask_plan(both, change_set)
    both.ahead = timedelta(minutes=61)
    both.work()
    change_set.refresh_from_db()
    assert (change_set.state, change_set.plan_wanted_at) == ("draft", None)
    assert "no worker finished this plan within an hour" in change_set.error
    assert due_work.clusters_with_work(both.now()) == []
    assert both.plan(change_set).state == "planned"


def test_what_cannot_be_begun_is_refused(both: Office) -> None:
    broken, good = both.agreed(quota(4)), both.agreed(quota(2, "speech"))
    ask_apply(both, broken)
    ask_apply(both, good)
    ChangeSet.objects.filter(pk=broken.pk).update(edits=[{"kind": "quota"}])
    both.work()
    broken.refresh_from_db()
    good.refresh_from_db()
    assert broken.state == "refused"
    assert "could not begin this: " in broken.error
    assert good.state == "applied"
