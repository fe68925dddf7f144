"""Two admins on one quota: exactly one wins, the other is told what it is now (I15).

No cluster is needed: who wins is decided in Postgres. `make soak EXAMPLES=1000` tries a
thousand pairs.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounting.access.models.people import Person
from accounting.access.models.teams import Team
from accounting.kit.audit import act
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.change_sets import (
    ChangedMeanwhile,
    create,
    edit,
)
from scheduler_view.changes.actions.store_desired import store
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.clusters.models import Observation
from scheduler_view.clusters.rules.stored_manifest import kept
from scheduler_view.quotas.models import QuotaTarget
from tests.budgets import examples, seconds
from tests.integration.changes.office import REASON, quota

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(seconds(300)),
]
PAIRS = examples(100)
Attempt = Callable[[], object]


def drafted(cluster: Cluster, team: str, gpus: int) -> ChangeSet:
    draft = Draft(edits_from([quota(gpus, team)]), REASON)
    return create(cluster=cluster, draft=draft, actor="ana", at=timezone.now())


def in_pairs(pairs: Sequence[tuple[Attempt, Attempt]]) -> list[tuple[object, ...]]:
    """Two people, each with a connection; both of each pair at the same moment."""
    gate = threading.Barrier(2, timeout=30)

    def person(attempts: Sequence[Attempt]) -> list[object]:
        try:
            return [one(attempt) for attempt in attempts]
        finally:
            connections.close_all()

    def one(attempt: Attempt) -> object:
        gate.wait()
        try:
            return attempt()
        except (LostUpdate, ChangedMeanwhile) as error:
            return error

    with ThreadPoolExecutor(2) as two:
        found = two.map(person, zip(*pairs, strict=True))
        return list(zip(*found, strict=True))


def test_of_pairs_of_edits_of_one_draft_one_wins_each() -> None:
    cluster = Cluster.objects.create(name="north")
    Team.objects.create(slug="vision", name="Vision")
    change_set = drafted(cluster, "vision", 1)

    def attempt(gpus: int, version: int) -> object:
        mine = ChangeSet.objects.get(pk=change_set.pk)
        draft = Draft(edits_from([quota(gpus)]), REASON)
        edit(mine, draft=draft, version=version, actor="ana", at=timezone.now())
        return gpus

    for number in range(PAIRS):
        version = change_set.version
        (found,) = in_pairs(
            [
                (
                    partial(attempt, 2 * number, version),
                    partial(attempt, 2 * number + 1, version),
                )
            ]
        )
        winners = [one for one in found if isinstance(one, int)]
        losers = [one for one in found if isinstance(one, ChangedMeanwhile)]
        assert (len(winners), len(losers)) == (1, 1)
        change_set.refresh_from_db()
        assert change_set.version == version + 1
        assert change_set.edits[0]["gpus"] == winners[0]


def test_of_pairs_of_change_sets_of_one_quota_one_wins_each() -> None:
    cluster = Cluster.objects.create(name="north")
    slugs = [f"t{number}" for number in range(PAIRS)]
    Team.objects.bulk_create(Team(slug=slug, name=slug) for slug in slugs)
    pairs = [(drafted(cluster, s, 3), drafted(cluster, s, 5)) for s in slugs]

    def attempt(change_set: ChangeSet) -> object:
        with act("ana", REASON):
            store(change_set)
        return change_set.edits[0]["gpus"]

    results = in_pairs(
        [(partial(attempt, one), partial(attempt, other)) for one, other in pairs]
    )
    stored = dict(QuotaTarget.objects.values_list("team__slug", "gpus"))
    for slug, found in zip(slugs, results, strict=True):
        winners = [one for one in found if isinstance(one, int)]
        losers = [one for one in found if isinstance(one, LostUpdate)]
        assert (len(winners), len(losers)) == (1, 1), found
        assert stored[slug] == winners[0]
        assert f"it is {winners[0]} now" in str(losers[0])


def test_of_two_who_adopt_at_once_one_makes_the_change_set() -> None:
    cluster = Cluster.objects.create(name="north")
    Team.objects.create(slug="any", name="Any")
    ana = get_user_model().objects.create_user("ana")
    Person.objects.create(user=ana, role="admin")
    meta = {"name": "urgent", "uid": "u"}
    Observation.objects.create(
        cluster=cluster,
        kind="PriorityClass",
        name="urgent",
        uid="u",
        resource_version="1",
        digest="",
        manifest=kept("PriorityClass", {"metadata": meta, "value": 100}),
        changed_at=timezone.now(),
    )
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(ana)

    def adopt(client: Client) -> object:
        asked = {"cluster": "north", "all": "yes"}
        return client.post("/quotas/limits/adopt", asked).headers["Location"]

    (found,) = in_pairs([(partial(adopt, clients[0]), partial(adopt, clients[1]))])
    assert set(found) == {f"/changes/{ChangeSet.objects.get().pk}"}
