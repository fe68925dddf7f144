"""K1: the plan of 500 quotas on a real API server, against 500 bare dry runs.

Both send the same number of requests in parallel. Ours also lists, compares, computes effects and
stores the plan. Skipped with a message if the control plane is not installed (`make provision`).
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests
from django.utils import timezone

from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.metering.models.cluster import Cluster
from bench.api_server import bench_world
from bench.measure import Figure, interleaved
from scheduler_view.changes.actions.change_sets import (
    create,
    request_plan,
)
from scheduler_view.changes.actions.store_plan import plan
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import Draft, QuotaEdit
from scheduler_view.changes.tasks.planner import AT_ONCE
from tests.control_plane.server import ADMIN
from tests.control_plane.world import GPU_KEY, World, quota

QUOTAS = 500
MOST_ROUNDS = 20  # of `interleaved`, with its first
REASON = "the plan of many quotas"


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if wanted and "K1" not in wanted:
        return
    with bench_world("K1") as world:
        if world is not None:
            yield from _figures(world)


def _figures(world: World) -> Iterator[Figure]:
    cluster = Cluster.objects.create(name="bench-plan", kubernetes=world.settings)
    names = [f"p{number:04}" for number in range(QUOTAS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(world.admin.make_namespace, names))
    now = timezone.now()
    for position, name in enumerate(names):
        team = Team.objects.create(slug=name, name=name)
        Binding.objects.create(
            kind=BindingKind.NAMESPACE,
            glob=name,
            team=team,
            position=position,
            valid_from=now,
        )
    edits = [QuotaEdit(name, "nvidia.com/gpu", 4) for name in names]
    drafts = [_draft(cluster, edits) for _ in range(MOST_ROUNDS)]
    made: list[ChangeSet] = []

    def ours_next() -> int:
        made.append(drafts.pop())
        return ours(made[-1])

    bodies = [quota(name, {GPU_KEY: "4"}) for name in names]
    seconds = interleaved({"ours": ours_next, "bare": lambda: bare(world, bodies)})
    assert made[-1].steps.filter(action="create", blocked="").count() == QUOTAS
    pairs = zip(seconds["ours"], seconds["bare"], strict=True)
    yield Figure(
        "K1",
        "plan of 500 quotas, against 500 bare dry runs at the same concurrency",
        statistics.median(mine / other for mine, other in pairs),
        1.3,
        at_most=True,
        detail={
            "ours_s": statistics.median(seconds["ours"]),
            "bare_s": statistics.median(seconds["bare"]),
        },
    )


def _draft(cluster: Cluster, edits: Sequence[QuotaEdit]) -> ChangeSet:
    """A change set to plan; its creation is not timed."""
    draft = Draft(edits, REASON)
    return create(cluster=cluster, draft=draft, actor="bench", at=timezone.now())


def ours(change_set: ChangeSet) -> int:
    """A plan from nothing to the stored steps."""
    at = timezone.now()
    request_plan(change_set, version=change_set.version, actor="bench", at=at)
    plan(change_set, at=at)
    assert change_set.state == ChangeState.PLANNED, change_set.error
    return QUOTAS


def bare(world: World, bodies: Sequence[Any]) -> int:
    """The same dry runs, without further processing."""
    with requests.Session() as session, ThreadPoolExecutor(AT_ONCE) as pool:
        session.headers["Authorization"] = f"Bearer {ADMIN}"
        session.headers["Content-Type"] = "application/apply-patch+yaml"
        session.trust_env = False
        session.verify = world.ca_file
        adapter = requests.adapters.HTTPAdapter(pool_maxsize=AT_ONCE)
        session.mount("https://", adapter)

        def send(body: Any) -> int:
            meta = body["metadata"]
            place = f"/api/v1/namespaces/{meta['namespace']}/resourcequotas"
            answer = session.patch(
                f"{world.url}{place}/{meta['name']}",
                params={"fieldManager": "gpu-ledger", "dryRun": "All"},
                data=json.dumps(body),
                timeout=30,
            )
            assert answer.ok, answer.text
            return len(answer.json())

        return sum(1 for _ in pool.map(send, bodies))
