"""K2: a drift check of 5,000 quotas on a real API server, against a bare paged list.

Skipped with a message if the control plane is not installed (`make provision`).
"""

import json
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import requests
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from bench import cluster as generated
from bench.api_server import bench_world
from bench.measure import Figure, interleaved
from scheduler_view.changes.tasks.desired_state import desired_of
from scheduler_view.changes.tasks.drift import desired_objects, find_drift
from scheduler_view.clusters.client.client import PAGE, ClusterClient
from scheduler_view.clusters.models import Drift
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.tasks.observe import observe
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.control_plane.server import ADMIN
from tests.control_plane.world import World

NAMESPACES, TIERS = 500, 10
AT_ONCE = 16  # parallel writes that create the cluster's objects
KINDS = (QUOTA, CLASS)


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if wanted and "K2" not in wanted:
        return
    with bench_world("K2") as world:
        if world is not None:
            yield from _figures(world)


def _figures(world: World) -> Iterator[Figure]:
    generated.reset()  # benches before this one leave their cluster
    cluster = Cluster.objects.create(name="bench", kubernetes=world.settings)
    want(cluster)
    with world.client() as client:
        bodies = desired_objects(desired_of(cluster)).values()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            names = [f"n{number:04}" for number in range(NAMESPACES)]
            list(pool.map(world.admin.make_namespace, names))
            list(pool.map(client.apply, bodies))
        check(cluster, client)
        found = Drift.objects.filter(cluster=cluster, state=DriftState.IN_SYNC)
        assert found.count() == NAMESPACES * TIERS + TIERS, "all are as wanted"
        seconds = interleaved(
            {"ours": lambda: check(cluster, client), "bare": lambda: bare(world)}
        )
        with CaptureQueriesContext(connection) as queries:
            check(cluster, client)
    pairs = zip(seconds["ours"], seconds["bare"], strict=True)
    written = sum(q["sql"].startswith(("INSERT", "DELETE")) for q in queries)
    yield Figure(
        "K2",
        "drift check of 5,000 quotas, against a bare paged list of them",
        statistics.median(ours / bare for ours, bare in pairs),
        1.5,
        at_most=True,
        detail={
            "ours_s": statistics.median(seconds["ours"]),
            "bare_s": statistics.median(seconds["bare"]),
            "rows_written": written,
        },
    )


def want(cluster: Cluster) -> None:
    """A quota of each tier in each namespace."""
    team = Team.objects.create(slug="bench", name="Bench")
    split = {f"n{number:04}": 4 for number in range(NAMESPACES)}
    for number in range(TIERS):
        tier = Tier.objects.create(
            cluster=cluster,
            name=f"tier{number}",
            value=number,
            class_name=f"tier{number}",
            version=1,
        )
        QuotaTarget.objects.create(
            cluster=cluster,
            team=team,
            resource="nvidia.com/gpu",
            tier=tier.name,
            gpus=4 * NAMESPACES,
            split=split,
            version=1,
        )


def check(cluster: Cluster, client: ClusterClient) -> int:
    """The periodic check of quotas and classes."""
    seen = observe(cluster, client, KINDS)
    assert not seen.errors, seen.errors
    find_drift(cluster, seen.changed, timezone.now())
    return seen.count


def bare(world: World) -> int:
    """The pages as JSON, without further processing."""
    count = 0
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {ADMIN}"
        session.trust_env = False
        session.verify = world.ca_file
        for path in (
            "/api/v1/resourcequotas",
            "/apis/scheduling.k8s.io/v1/priorityclasses",
        ):
            query = {"limit": str(PAGE)}
            while True:
                answer = session.get(world.url + path, params=query, timeout=30)
                page = json.loads(answer.content)
                count += len(page["items"])
                if not page["metadata"].get("continue"):
                    break
                query["continue"] = page["metadata"]["continue"]
    return count
