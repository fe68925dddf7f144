"""P19 to P21: why 10,000 pods wait on 5,000 nodes, why one more does, and the page of queues.

P19 reads the objects and explains every unit, in seconds of processor time (other work on the
machine does not count) and in growth of memory of a process of its own. The alternative is a loop
over nodes for every pod (`tests/oracle/waits.py`); causes and sets of blockers are compared first.
P20 explains pods of new shapes and priorities in a cluster that is known. P21 is the page over
HTTP, with as many units and a week of samples.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta

from bench.measure import Figure, peak_rss
from bench.waiting_cluster import (
    CLASSES,
    GPU,
    NOW_MS,
    Objects,
    decoded,
    waiting_cluster,
)
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.pods import PodObject, pod_object
from scheduler_view.waits.rules.world.world import read_world

NODES, WAITING = 5_000, 10_000
LOOPED = 12  # units that the loop explains: it takes seconds for each
MORE = 60  # pods that are explained one by one
LOADS = 40  # of the page
MIB = 1 << 20


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The figures that are requested; all if none is."""
    if not wanted or wanted & {"P19", "P20"}:
        objects = waiting_cluster(NODES, WAITING)
        began = time.process_time()
        explainer = Explainer(read_world(decoded(objects), NOW_MS))
        read_s = time.process_time() - began
        found = {one.subject: one for one in explainer.waiting()}
        whole_s = time.process_time() - began
        if not wanted or "P19" in wanted:
            yield Figure(
                "P19",
                f"{WAITING:,} waiting pods on {NODES:,} nodes: read and explain, processor time",
                whole_s,
                10,
                unit="s",
                at_most=True,
                detail={"units": len(found), "read_s": read_s},
            )
            yield _against_the_loop(objects, explainer, found, whole_s)
            yield _memory()
        if not wanted or "P20" in wanted:
            yield _one_more(objects, explainer)
    if not wanted or "P21" in wanted:
        yield _queue_page()


def _against_the_loop(
    objects: Objects,
    explainer: Explainer,
    found: dict[str, WaitExplanation],
    whole_s: float,
) -> Figure:
    from tests.oracle.waits import PlainLoop

    manifests = {
        kind: [json.loads(one) for one in objects[kind]] for kind in ("Node", "Pod")
    }
    pods = {one["metadata"]["uid"]: one for one in manifests["Pod"]}
    units = [
        u for u in explainer.index.units if u.waiting and not (u.bound or u.missing)
    ]
    chosen = random.Random(7).sample(units, LOOPED)  # noqa: S311  # seeded: the same units
    began = time.process_time()
    loop = PlainLoop(manifests["Node"], manifests["Pod"])
    for unit in chosen:
        ours, pod = found[unit.subject], pods[unit.waiting[0].uid]
        others = frozenset(one.value for one in ours.contributing)
        assert (ours.cause.value, others) == loop.causes(pod)
        count, best = loop.blockers(pod)
        first = ours.blockers[0].pods if ours.blockers else ()
        assert (ours.blocker_sets, sorted(first)) == (count, sorted(best)), unit.subject
    loop_s = (time.process_time() - began) / LOOPED
    return Figure(
        "P19",
        "a unit's explanation / a loop over nodes for every pod",
        loop_s / (whole_s / len(found)),
        100,
        detail={"loop_ms": 1000 * loop_s, "ours_ms": 1000 * whole_s / len(found)},
    )


def _memory() -> Figure:
    words = [sys.executable, "-m", "bench.waits"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return Figure(
        "P19",
        "growth of memory while they are read and explained",
        int(done.stdout) / MIB,
        1024,
        unit="MiB",
        at_most=True,
    )


def _one_more(objects: Objects, explainer: Explainer) -> Figure:
    """Pods of shapes that no other pod has; the first of a priority is the slowest."""
    draws = random.Random(21)  # noqa: S311  # seeded: always the same pods
    models = [one for one in objects["Pod"] if b'"phase":"Pending"' in one]
    taken = []
    for number in range(MORE):
        pod = _changed(json.loads(draws.choice(models)), number, draws)
        began = time.process_time()
        unit = WorkUnit("Pod", pod.namespace, pod.name, pods=(pod,))
        assert explainer.explain(unit) is not None
        taken.append(1000 * (time.process_time() - began))
    return _p95("P20", "one more waiting pod, of a new shape", taken)


def _changed(
    manifest: dict[str, object], number: int, draws: random.Random
) -> PodObject:
    found: dict[str, dict[str, object]] = json.loads(json.dumps(manifest))
    name = f"more-{number}"
    found["metadata"] |= {"name": name, "uid": name, "ownerReferences": []}
    requests = {
        "cpu": f"{2000 + number}m",
        "memory": "8Gi",
        GPU: str(draws.randint(1, 8)),
    }
    found["spec"] |= {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "priority": draws.choice((5, 50, 500, 5000, 100_000)),
    }
    return pod_object(found)


def _queue_page() -> Figure:
    from django.test import Client
    from django.test.utils import override_settings

    from bench.gpu_pages import as_server, finance

    _fill_queues()
    client: Client = finance("queues")
    taken, busy = [], []
    with as_server(), override_settings(ALLOWED_HOSTS=["testserver"]):
        for _ in range(LOADS + 3):
            began, processor = time.perf_counter(), time.process_time()
            answer = client.get("/queues")
            assert answer.status_code == 200, answer.content[:500]
            assert b"w-49" in answer.content
            taken.append(1000 * (time.perf_counter() - began))
            busy.append(1000 * (time.process_time() - processor))
    figure = _p95("P21", f"the page of queues, {WAITING:,} units that wait", taken[3:])
    figure.detail["processor"] = statistics.median(busy[3:])  # of the web process
    return figure


def _fill_queues() -> None:
    """Units that wait, in 200 namespaces and four pools, with a week of samples."""
    from django.utils import timezone

    from accounting.metering.models.cluster import Cluster
    from bench import cluster
    from scheduler_view.queues.models.queues import PoolSample, WaitSummary
    from scheduler_view.waits.models import WaitRecord

    cluster.reset()
    cluster.make(800)
    bench, now = Cluster.objects.get(pk=1), timezone.now()
    models = ("H100", "A100", "L40S", "T4")
    WaitRecord.objects.bulk_create(
        WaitRecord(
            cluster=bench,
            kind="Job",
            namespace=f"ns-{1 + number % 200}",
            name=f"w-{number}",
            uid=f"w-{number}",
            tier=CLASSES[number % 4][0],
            resource=GPU,
            model=models[number % 4],
            units=8,
            stage="unschedulable",
            cause="no_free_gpu",
            waits_since=now - timedelta(minutes=WAITING - number),
            created_at=now - timedelta(minutes=WAITING - number),
            position=1 + number // 4,
            count=WAITING // 4,
            start_word="hour",
            start_like=18,
            start_kept=17,
        )
        for number in range(WAITING)
    )
    minutes = range(7 * 24 * 60, 0, -5)
    PoolSample.objects.bulk_create(
        PoolSample(
            cluster=bench,
            resource=GPU,
            model=model,
            since=now - timedelta(minutes=at),
            until=now - timedelta(minutes=at - 5),
            waiting=20_000 + at % 100,
            refused=0,
            held_back=0,
            work=WAITING // 4,
            capacity=8_000,
            available=at % 40,
            fitting=0,
            fitting_held=0,
        )
        for model in models
        for at in minutes
    )
    WaitSummary.objects.bulk_create(
        WaitSummary(
            cluster=bench, tier=tier, units=100, p50_ms=1, p95_ms=2, made_at=now
        )
        for tier, _ in CLASSES
    )


def _p95(goal: str, what: str, taken: list[float]) -> Figure:
    return Figure(
        goal,
        f"{what}, 95th percentile",
        statistics.quantiles(taken, n=20)[-1],
        50,
        unit="ms",
        at_most=True,
        detail={"median": statistics.median(taken), "max": max(taken)},
    )


if __name__ == "__main__":
    made = waiting_cluster(NODES, WAITING)
    before = peak_rss()
    known = list(Explainer(read_world(decoded(made), NOW_MS)).waiting())
    print(peak_rss() - before)
