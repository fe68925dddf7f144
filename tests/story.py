# mypy: disable-error-code="attr-defined, type-arg, arg-type, return-value, var-annotated"
# The story hangs what it knows on its rows; the pages it feeds are typed strictly.
"""A small organization with six weeks of use, written straight into the tables.

For tests of pages only: it gives every page something true to show (teams of different
habits, an unmapped namespace, a model without a price, a day without data, a late start)
without the time that ingesting would take. Today and yesterday have five-minute facts and are
rolled up by the product itself; older hours are written as rollups.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.billing import Billing
from accounting.access.models.people import Membership, Person
from accounting.access.models.teams import Binding, Team
from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval, to_ms
from accounting.core.ledger_line import STATES
from accounting.metering.models.cluster import (
    Cluster,
    Gpu,
    GpuPresence,
    Node,
    NodeFact,
    Source,
)
from accounting.metering.models.ledger import DataIssue, IngestWindow
from accounting.metering.models.pod import (
    Namespace,
    Pod,
    PodAttribution,
    PodHold,
    Workload,
)
from accounting.metering.tasks.facts import partitions
from accounting.prices.models.price import UnitPrice
from accounting.usage.tasks.gpu_rollup import roll_up_by_gpu
from accounting.usage.tasks.rollup import roll_up_days, roll_up_hours
from scheduler_view.savings.tasks.compute import compute_due

ZONE = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
PASSWORD = "correct horse battery"  # of the cast, in tests only
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)

# model, nodes, rate, cost
MODELS = (
    ("NVIDIA-H100-80GB-HBM3", 4, Decimal("3.10"), Decimal("2.35")),
    ("NVIDIA-A100-SXM4-80GB", 5, Decimal("1.90"), Decimal("1.40")),
    ("NVIDIA-L40S", 2, Decimal("0.98"), Decimal("0.70")),
    ("NVIDIA-A10", 1, None, None),  # nobody set a price
)
# slug, name, department, workloads as (name, kind, type, model, GPUs, busy share)
TEAMS: tuple[
    tuple[str, str, str, tuple[tuple[str, str, str, int, int, float], ...]], ...
] = (
    (
        "language",
        "Language",
        "Research",
        (
            ("pretrain-13b", "Job", "training", 0, 16, 0.91),
            ("eval-harness", "Job", "batch", 0, 4, 0.55),
            ("serving", "Deployment", "inference", 1, 6, 0.48),
        ),
    ),
    (
        "vision",
        "Vision",
        "Research",
        (
            ("sweep-resnet", "Job", "training", 1, 12, 0.74),
            ("notebook-mara", "StatefulSet", "notebook", 1, 1, 0.03),
            ("segment-train", "RayCluster", "training", 0, 4, 0.81),
        ),
    ),
    (
        "search",
        "Search",
        "Product",
        (
            ("rerank-serving", "Deployment", "inference", 1, 8, 0.33),
            ("batch-embed", "CronJob", "batch", 2, 6, 0.62),
        ),
    ),
    (
        "speech",
        "Speech",
        "Product",
        (
            ("asr-train", "Job", "training", 1, 6, 0.79),
            ("tts-serving", "Deployment", "inference", 2, 3, 0.41),
        ),
    ),
    (
        "robotics",
        "Robotics",
        "Research",
        (
            ("sim-farm", "Job", "batch", 2, 5, 0.68),
            ("policy-train", "Job", "training", 0, 2, 0.57),
        ),
    ),
    (
        "fraud",
        "Fraud",
        "Risk",
        (
            ("graph-train", "Job", "training", 1, 3, 0.72),
            ("scoring", "Deployment", "inference", 3, 2, 0.29),
        ),
    ),
    (
        "sandbox",
        "Sandbox",
        "Platform",
        (("notebooks", "StatefulSet", "notebook", 3, 3, 0.12),),
    ),
)
UNMAPPED = ("scratch", (("old-experiment", "Deployment", "", 1, 2, 0.06),))


def _hard(unit: str) -> str:
    """The second column of what is held: `sim-farm` spins, `scoring` is not measured."""
    names = {
        "hour": "hour_start billing_on namespace_id team_id workload_id workload_type"
        " model lifecycle tier",
        "window": "window_start gpu_id instance pod_id node_id",
    }[unit].split()
    key = ", ".join(f"u.{name}" for name in names)
    workload = {
        "hour": "JOIN accounting_workload w ON w.id = u.workload_id",
        "window": "JOIN accounting_pod p ON p.id = u.pod_id"
        " JOIN accounting_workload w ON w.id = p.workload_id",
    }[unit]
    work = "CASE WHEN w.name = 'sim-farm' THEN 0 ELSE 1 END"
    return f"""
        INSERT INTO intensity_{unit} (
            cluster_id, {", ".join(names)}, sm_seen_us, sm_active_us,
            tensor_seen_us, tensor_active_us, dram_seen_us, dram_active_us,
            memory_seen_us, memory_mib_ms, memory_peak_bytes,
            power_seen_us, power_mj, energy_seen_us, energy_mj)
        SELECT u.cluster_id, {key}, seen, busy * 600, seen, busy * 250 * {work},
               seen, busy * 300 * {work}, seen, seen * 40, 64::bigint << 30,
               seen, busy * 400, seen, busy * 400
        FROM usage_{unit} u {workload}
        CROSS JOIN LATERAL (
            SELECT (u.busy_ms + u.idle_ms)::bigint * 1000 AS seen,
                   u.busy_ms::bigint AS busy
        ) measured
        WHERE u.cluster_id = %s AND seen > 0 AND w.name <> 'scoring'
    """  # noqa: S608  # this module's own words


@dataclass
class Held:
    """One workload that holds GPUs all through the story."""

    team: Team | None
    namespace: Namespace
    workload: Workload
    pod: Pod
    model: str
    busy: float
    gpus: list[Gpu] = field(default_factory=list)


@dataclass
class Story:
    """What was written, for tests to name."""

    cluster: Cluster
    until: datetime
    since: datetime
    teams: dict[str, Team]
    held: list[Held]
    gap_day: datetime


def tell(until: datetime, days: int = 42) -> Story:
    """Write the story; its data end at `until`, a five-minute border."""
    teller = _Teller(until, days)
    return teller.write()


class _Teller:
    def __init__(self, until: datetime, days: int) -> None:
        self.dice = random.Random(7)
        self.until = until
        self.since = (until - timedelta(days=days)).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        today = until.astimezone(ZONE).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        self.gap_day = (today - timedelta(days=8)).astimezone(UTC)
        self.cluster = Cluster.objects.create(name="north")
        self.held: list[Held] = []
        self.gpus: dict[str, list[Gpu]] = {}
        self.prices: dict[str, UnitPrice] = {}

    def write(self) -> Story:
        self._organization()
        teams = self._teams()
        self._machines()
        self._workloads(teams)
        self._place()
        self._windows()
        low = self._first_fact()
        self._rollups(low)
        self._facts(low)
        self._issues()
        compute_due(self.cluster)
        return Story(
            self.cluster, self.until, self.since, teams, self.held, self.gap_day
        )

    def _first_fact(self) -> datetime:
        """The start of yesterday in bills: one whole day by GPU, at any time of the day."""
        today = self.until.astimezone(ZONE).date()
        yesterday = today - timedelta(days=1)
        return datetime.combine(yesterday, time(), tzinfo=ZONE).astimezone(UTC)

    def _organization(self) -> None:
        Billing.objects.create(currency="EUR", timezone=ZONE.key, valid_from=self.since)
        Source.objects.create(
            cluster=self.cluster,
            name="exporters",
            kind="scrape",
            interval_s=30,
            last_read_at=self.until,
            last_sample_at=self.until - timedelta(seconds=12),
        )
        for model, _, rate, cost in MODELS:
            if rate is not None and cost is not None:
                self.prices[model] = UnitPrice.objects.create(
                    model=model,
                    currency="EUR",
                    rate_per_gpu_hour=rate,
                    valid_from=self.since,
                    source_note="Price list of the year",
                )
                UnitPrice.objects.create(
                    kind="cost",
                    model=model,
                    currency="EUR",
                    rate_per_gpu_hour=cost,
                    valid_from=self.since,
                    source_note="Price list of the year",
                )

    def _teams(self) -> dict[str, Team]:
        teams = {}
        for slot, (slug, name, department, _) in enumerate(TEAMS, start=1):
            teams[slug] = Team.objects.create(
                slug=slug, name=name, department=department, colour_slot=slot
            )
            Binding.objects.create(
                kind="namespace",
                glob=f"{slug}-*",
                team=teams[slug],
                position=slot,
                valid_from=self.since,
            )
        return teams

    def _machines(self) -> None:
        number = 0
        for model, nodes, _, _ in MODELS:
            for _ in range(nodes):
                number += 1
                node = Node.objects.create(
                    cluster=self.cluster, name=f"gpu-{number:02d}"
                )
                NodeFact.objects.create(
                    node=node, valid_from=self.since, model=model, lifecycle="on-demand"
                )
                for index in range(8):
                    tail = f"{number:04x}-{index:04x}"
                    gpu = Gpu.objects.create(
                        cluster=self.cluster, uuid=f"GPU-5a1e{tail}-7c3d", model=model
                    )
                    GpuPresence.objects.create(
                        gpu=gpu, node=node, start_ms=to_ms(self.since)
                    )
                    gpu.node = node
                    self.gpus.setdefault(model, []).append(gpu)

    def _workloads(self, teams: dict[str, Team]) -> None:
        for slug, _, _, workloads in TEAMS:
            self._namespace(f"{slug}-prod", teams[slug], workloads)
        self._namespace(UNMAPPED[0], None, UNMAPPED[1])

    def _namespace(self, name: str, team: Team | None, workloads: tuple) -> None:
        namespace = Namespace.objects.create(cluster=self.cluster, name=name)
        for title, kind, type_, model, count, busy in workloads:
            workload = Workload.objects.create(
                cluster=self.cluster,
                namespace=namespace,
                kind=kind,
                name=title,
                type=type_,
            )
            pod = Pod.objects.create(
                cluster=self.cluster,
                uid=f"0f{len(self.held):02d}c1de-{title}",
                namespace=namespace,
                name=f"{title}-0",
                workload=workload,
            )
            PodAttribution.objects.create(
                pod=pod,
                team=team,
                workload_type=type_,
                valid_from=datetime(1970, 1, 1, tzinfo=UTC),
                valid_to=FOREVER,
            )
            held = Held(team, namespace, workload, pod, MODELS[model][0], busy)
            held.count = count
            self.held.append(held)

    def _place(self) -> None:
        free = {model: list(gpus) for model, gpus in self.gpus.items()}
        for held in self.held:
            held.gpus = [free[held.model].pop(0) for _ in range(held.count)]
            PodHold.objects.create(
                pod=held.pod,
                node=held.gpus[0].node,
                resource="nvidia.com/gpu",
                units=len(held.gpus),
                bound_ms=to_ms(self.since),
                created_ms=to_ms(self.since) - 42_000,
            )

    def _windows(self) -> None:
        rows, at = [], self.since
        gap_end = self.gap_day + HOUR * 24
        expected = 96 * 10
        while at < self.until:
            if not self.gap_day <= at < gap_end:
                seen = expected - self.dice.choice((0, 0, 0, 4, 9, 30))
                rows.append(
                    IngestWindow(
                        cluster=self.cluster,
                        window_start=at,
                        state="done",
                        rows=96,
                        samples_expected=expected,
                        samples_seen=seen,
                        read_ms=self.dice.randint(18, 90),
                        read_at=at + timedelta(minutes=5, seconds=31),
                    )
                )
            at += timedelta(milliseconds=WINDOW_MS)
        IngestWindow.objects.bulk_create(rows, batch_size=2000)

    def _load(self, held: Held, at: datetime) -> tuple[float, float, float]:
        """Part of an hour held, busy and not observed."""
        local = at.astimezone(ZONE)
        office = 1.0 if 8 <= local.hour < 19 else 0.72
        weekend = 0.6 if local.weekday() >= 5 else 1.0
        is_steady = held.workload.kind in {"Deployment", "StatefulSet"}
        held_part = (
            1.0 if is_steady else min(1.0, weekend * self.dice.uniform(0.8, 1.1))
        )
        utilization = held.busy * (office * weekend if is_steady else 1.0)
        unknown = self.dice.choice((0.0, 0.0, 0.0, 0.02, 0.05))
        return (
            held_part,
            min(0.99, utilization * self.dice.uniform(0.85, 1.12)),
            unknown,
        )

    def _rollups(self, until: datetime) -> None:
        partitions.ensure(partitions.ALL_HOURS, self.since, self.until + HOUR)
        two_days = HOUR * 48
        partitions.ensure(
            partitions.ALL_DAYS, self.since - two_days, self.until + two_days
        )
        rows, at = [], self.since
        gap_end = self.gap_day + HOUR * 24
        while at < until:
            if not self.gap_day <= at < gap_end:
                rows.extend(self._hour(at))
            at += HOUR
        columns = ", ".join(f"{state}_ms" for state in STATES)
        hours = f"""
            COPY usage_hour (cluster_id, hour_start, billing_on, namespace_id, team_id,
                workload_id, workload_type, model, lifecycle, price_id, gpu_price_id, rate, cost,
                gpu_rate, gpu_cost, currency, samples_expected, samples_used, {columns})
            FROM STDIN"""
        with connection.cursor() as cursor:
            with cursor.copy(hours) as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(_hard("hour"), [self.cluster.pk])
        first = self.since.astimezone(ZONE).date()
        for n in range((self.until.astimezone(ZONE).date() - first).days + 1):
            roll_up_days(self.cluster.pk, [first + timedelta(days=n)])

    def _hour(self, at: datetime) -> list[tuple[object, ...]]:
        rows, used = [], dict.fromkeys(self.gpus, 0)
        for held in self.held:
            part, utilization, gap = self._load(held, at)
            allocated = int(len(held.gpus) * part * HOUR_MS)
            unknown = int(allocated * gap)
            busy = int((allocated - unknown) * utilization)
            used[held.model] += allocated
            states = (busy, allocated - unknown - busy, unknown, 0, 0, 0, 0)
            rows.append(self._row(at, held, held.model, states))
        for model, gpus in self.gpus.items():
            free = len(gpus) * HOUR_MS - used[model]
            stray = free // 200
            rows.append(
                self._row(at, None, model, (0, 0, 0, free - stray, 0, stray, 0))
            )
        return rows

    def _row(
        self, at: datetime, held: Held | None, model: str, states: tuple[int, ...]
    ) -> tuple[object, ...]:
        price = self.prices.get(model)
        rate = price.rate_per_gpu_hour if price else None
        cost = next(cost for name, *_, cost in MODELS if name == model)
        expected = sum(states) // 30_000
        return (
            self.cluster.pk,
            at,
            at.astimezone(ZONE).date(),
            held.namespace.pk if held else 0,
            held.team.pk if held and held.team else 0,
            held.workload.pk if held else 0,
            held.workload.type if held else "",
            model,
            "on-demand",
            price.pk if price else 0,
            price.pk if price else 0,
            rate,
            cost,
            rate,
            cost,
            "EUR" if price else "",
            expected,
            expected - states[2] // 30_000,
            *states,
        )

    def _facts(self, low: datetime) -> None:
        partitions.ensure(partitions.ALL_WINDOWS, low, self.until + HOUR)
        holders = {gpu.pk: held for held in self.held for gpu in held.gpus}
        rows, at = [], low
        while at < self.until:
            for gpus in self.gpus.values():
                rows.extend(self._fact(at, gpu, holders.get(gpu.pk)) for gpu in gpus)
            at += timedelta(milliseconds=WINDOW_MS)
        with (
            connection.cursor() as cursor,
            cursor.copy(
                """COPY usage_window (cluster_id, window_start, gpu_id, pod_id, node_id,
                   busy_ms, idle_ms, unknown_ms, free_ms, metric, samples_expected,
                   samples_used) FROM STDIN"""
            ) as copy,
        ):
            for row in rows:
                copy.write_row(row)
        with connection.cursor() as cursor:
            cursor.execute(_hard("window"), [self.cluster.pk])
        days = roll_up_hours(self.cluster.pk, Interval.of(low, self.until))
        roll_up_days(self.cluster.pk, sorted(days))
        roll_up_by_gpu(self.cluster.pk)

    def _fact(self, at: datetime, gpu: Gpu, held: Held | None) -> tuple[object, ...]:
        node = gpu.node.pk
        if held is None:
            return (self.cluster.pk, at, gpu.pk, 0, node, 0, 0, 0, WINDOW_MS, 1, 10, 10)
        _, utilization, gap = self._load(held, at)
        unknown = int(WINDOW_MS * gap)
        busy = int(
            (WINDOW_MS - unknown) * min(1.0, utilization * self.dice.uniform(0.7, 1.2))
        )
        idle = WINDOW_MS - unknown - busy
        return (
            self.cluster.pk,
            at,
            gpu.pk,
            held.pod.pk,
            node,
            busy,
            idle,
            unknown,
            0,
            1,
            10,
            10 - unknown // 30_000,
        )

    def _issues(self) -> None:
        DataIssue.objects.create(
            cluster=self.cluster,
            code="unpriced_gpu",
            subject="NVIDIA-A10",
            severity="error",
            message="No price matches. Its cost is unknown and not included in totals.",
            advice="Add a price for this model.",
            first_seen=self.since,
            last_seen=self.until,
            at_stake_ms=5 * 1000 * HOUR_MS,
        )
        DataIssue.objects.create(
            cluster=self.cluster,
            code="unmapped_namespace",
            subject=UNMAPPED[0],
            message="No attribution rule maps this namespace to a team.",
            advice="Add an attribution rule for it.",
            first_seen=self.since,
            last_seen=self.until,
            at_stake_ms=2 * 1000 * HOUR_MS,
        )


def cast(story: Story) -> dict[str, object]:
    """Ana (admin), Fin (finance), Luis (leads vision), Mia (two teams), Omar (none)."""
    users = get_user_model().objects
    people = {}
    for name, full, role in (
        ("ana", ("Ana", "Keller"), "admin"),
        ("fin", ("Fin", "Olsen"), "finance"),
        ("luis", ("Luis", "Ortega"), "none"),
        ("mia", ("Mia", "Sato"), "none"),
        ("omar", ("Omar", "Haddad"), "none"),
    ):
        user = users.create_user(
            name, password=PASSWORD, first_name=full[0], last_name=full[1]
        )
        Person.objects.create(user=user, role=role)
        people[name] = user
    vision, speech = story.teams["vision"], story.teams["speech"]
    Membership.objects.create(user=people["luis"], team=vision, role="lead")
    Membership.objects.create(user=people["mia"], team=vision)
    Membership.objects.create(user=people["mia"], team=speech)
    return people
