"""One node of a few GPUs, pods in letters, and their facts, written straight into the tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import connection

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_day
from accounting.core.interval import WINDOW_MS, Interval, to_instant, to_ms
from accounting.metering.models.cluster import Cluster, Gpu, Node, NodeFact
from accounting.metering.models.pod import (
    Namespace,
    Pod,
    PodAttribution,
    PodHold,
    Workload,
)
from accounting.metering.tasks.facts import partitions
from accounting.prices.models.price import UnitPrice
from accounting.usage.tasks.rollup import roll_up_days, roll_up_hours
from scheduler_view.queues.models.queues import PoolSample
from tests.unit.savings.fleets import LETTERS

MODEL = "NVIDIA-H100-80GB-HBM3"
START = datetime(2026, 11, 3, tzinfo=UTC)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
RATE = Decimal("2.50")
HOUR = timedelta(hours=1)


@dataclass
class Fleet:
    """A cluster of one node; `until` is where its data end."""

    cluster: Cluster
    node: Node
    namespace: Namespace
    teams: Mapping[str, Team]
    until: datetime
    gpus: list[Gpu] = field(default_factory=list)
    taken: int = 0

    def hold(
        self,
        name: str,
        *letters: str,
        team: str = "vision",
        kind: str = "Job",
        at: datetime = START,
        is_open: bool = False,
        labels: Mapping[str, str] | None = None,
        workload: str = "",
    ) -> Pod:
        """A pod with one GPU for each text, idle and busy as its letters say."""
        work, _ = Workload.objects.get_or_create(
            cluster=self.cluster,
            namespace=self.namespace,
            kind=kind,
            name=workload or name,
        )
        start_ms = to_ms(at)
        end_ms = start_ms + max(map(len, letters)) * WINDOW_MS
        record = {"labels": [[start_ms, dict(labels)]]} if labels else {}
        pod = Pod.objects.create(
            cluster=self.cluster,
            uid=name,
            namespace=self.namespace,
            name=name,
            workload=work,
            node=self.node,
            first_ms=start_ms,
            last_ms=end_ms,
            record=record,
        )
        PodAttribution.objects.create(
            pod=pod, team=self.teams[team], valid_from=START, valid_to=FOREVER
        )
        PodHold.objects.create(
            pod=pod,
            node=self.node,
            resource="nvidia.com/gpu",
            units=len(letters),
            bound_ms=start_ms,
            ended_ms=None if is_open else end_ms,
            ended_by="" if is_open else "Succeeded",
        )
        self.write(pod, *letters, at=at)
        return pod

    def use_node(self, name: str, *, lifecycle: str) -> None:
        """From now on, pods and GPUs are on another node."""
        self.node = Node.objects.create(cluster=self.cluster, name=name)
        NodeFact.objects.create(
            node=self.node, valid_from=START, model=MODEL, lifecycle=lifecycle
        )

    def write(self, pod: Pod, *letters: str, at: datetime) -> None:
        """The facts of a pod, on GPUs of its own."""
        rows: list[tuple[int | datetime, ...]] = []
        for text in letters:
            gpu = self._gpu()
            for n, letter in enumerate(text):
                start = to_instant(to_ms(at) + n * WINDOW_MS)
                states = (*LETTERS[letter], 0)
                rows.append(
                    (self.cluster.pk, start, gpu.pk, pod.pk, self.node.pk, *states)
                )
        self._insert(rows)

    def free(self, count: int, at: datetime = START, free_ms: int = WINDOW_MS) -> None:
        """Windows in which one more GPU had free time."""
        gpu = self._gpu()
        self._insert(
            [
                (
                    *(self.cluster.pk, to_instant(to_ms(at) + n * WINDOW_MS)),
                    *(gpu.pk, 0, self.node.pk, 0, 0, 0, free_ms),
                )
                for n in range(count)
            ]
        )

    def _gpu(self) -> Gpu:
        self.taken += 1
        return Gpu.objects.create(
            cluster=self.cluster, uuid=f"GPU-{self.taken}", model=MODEL
        )

    def _insert(self, rows: list[tuple[int | datetime, ...]]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(
                """INSERT INTO usage_window (cluster_id, window_start, gpu_id, pod_id,
                   node_id, busy_ms, idle_ms, unknown_ms, free_ms)
                   VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)""",
                rows,
            )

    def roll_up(self) -> None:
        """Sum the hours up to the end of the data."""
        days = roll_up_hours(self.cluster.pk, Interval.of(START, self.until))
        roll_up_days(self.cluster.pk, sorted(days | {billing_day(START)}))


def make_fleet(until: datetime) -> Fleet:
    """An empty fleet with a price and two teams."""
    cluster = Cluster.objects.create(name="waste", data_end_ms=to_ms(until))
    node = Node.objects.create(cluster=cluster, name="n1")
    NodeFact.objects.create(node=node, valid_from=START, model=MODEL, lifecycle="spot")
    UnitPrice.objects.create(
        model=MODEL,
        kind="rate",
        rate_per_gpu_hour=RATE,
        currency="USD",
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    partitions.ensure(partitions.ALL, START - 48 * HOUR, until + 48 * HOUR)
    namespace = Namespace.objects.create(cluster=cluster, name="lab")
    teams = {
        slug: Team.objects.create(slug=slug, name=slug.title())
        for slug in ("vision", "search")
    }
    return Fleet(cluster, node, namespace, teams, until)


def sample(
    fleet: Fleet,
    since: datetime,
    until: datetime,
    *,
    policy: Mapping[str, int] | None = None,
    unused: Mapping[str, int] | None = None,
) -> PoolSample:
    """What was observed of the pool of whole GPUs."""
    return PoolSample.objects.create(
        cluster=fleet.cluster,
        resource="nvidia.com/gpu",
        model=MODEL,
        since=since,
        until=until,
        waiting=0,
        refused=0,
        held_back=0,
        work=1,
        capacity=8,
        available=8,
        fitting=0,
        fitting_held=0,
        policy_nodes=dict(policy or {}),
        unused_nodes=dict(unused or {}),
    )
