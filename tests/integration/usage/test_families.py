"""Usage by family: runs of one workload together (rules.md N41)."""

import importlib
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import permutations

import pytest
from django.db import connection

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Namespace, Owner, Pod, Workload
from accounting.metering.rules.inventory.families import family_of
from accounting.metering.tasks.evidence.workloads import resolve_pods
from accounting.months.models.charge import ChargeLine
from accounting.months.tasks.close import close_period
from accounting.usage.tasks.family_days import move_families
from tests.integration.metering.support import report
from tests.integration.prices.books import HOUR_MS, TEN, Books
from tests.unit.metering.inventory.test_families import EXAMPLES

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SET_UP = """
billing: {currency: EUR, timezone: UTC}
teams: [{slug: a, name: A}, {slug: b, name: B}]
bindings: [{namespace: a, team: a}, {namespace: b, team: b}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "2"}]
"""


@pytest.fixture
def runs(books: Books) -> Books:
    """Three runs of `train`, of two hours, one and one; one of another namespace; one alone."""
    books.configure(SET_UP)
    for n, (name, space, hours) in enumerate(
        [
            ("train-7xk2p", "a", 2),
            ("train-9wz4c", "a", 1),
            ("train-17", "a", 1),
            ("train-bcdfg", "b", 3),
            ("llama-70b", "b", 1),
        ]
    ):
        pod = books.pod(name, space=space)
        start = TEN + n * DAY
        books.hours(books.gpu(f"GPU-{n}"), start, start + hours * HOUR, pod)
    books.settle()
    return books


def hours_of(**options: str) -> dict[tuple[str, str], int]:
    rows = report("usage", by="family", **options)
    return {
        (row["namespace"], row["family"]): row["allocated_ms"] // HOUR_MS
        for row in rows
    }


TRAIN, OTHER, ALONE = ("a", "train"), ("b", "train"), ("b", "llama-70b")


def test_runs_of_one_namespace_are_one_row(runs: Books) -> None:
    assert hours_of() == {TRAIN: 4, OTHER: 3, ALONE: 1}
    [row] = report("usage", by="family", namespace="a")
    assert Decimal(row["charge"]) == 8
    by_day = report("usage", by="family,day", family="train", namespace="a")
    assert [row["allocated_ms"] // HOUR_MS for row in by_day] == [2, 1, 1]
    works = report("usage", by="workload", family="train")
    assert [row["workload"] for row in works] == [
        *("train-17", "train-7xk2p", "train-9wz4c", "train-bcdfg")
    ]


@pytest.mark.parametrize(
    ("start", "end"),
    [  # days, hours, and parts of an hour, which are facts
        ("2026-10-06", "2026-10-11"),
        ("2026-10-06T01:00:00Z", "2026-10-10T23:00:00Z"),
        ("2026-10-06T01:05:00Z", "2026-10-10T23:05:00Z"),
    ],
)
@pytest.mark.parametrize("further", ["", ",hour", ",gpu", ",team", ",model,tier"])
def test_each_table_has_families(
    runs: Books, start: str, end: str, further: str
) -> None:
    period = {"from": start, "to": end}
    rows = report("usage", by=f"family{further}", **period)
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["namespace"], row["family"]
        found[key] = found.get(key, 0) + row["allocated_ms"] // 1000
    assert found == {TRAIN: 4 * 3600, OTHER: 3 * 3600, ALONE: 3600}


def test_a_closed_month_has_its_charges_by_family(runs: Books) -> None:
    """Lines name their workload and not its family, which a label may give another name later."""
    before = report("usage", by="family")
    close_period("2026-10")
    runs.hours(runs.gpu("GPU-late"), TEN, TEN + HOUR, Pod.objects.get(name="train-17"))
    runs.settle()
    after = report("usage", by="family")
    assert [row["charge"] for row in after] == [row["charge"] for row in before]
    assert [row["allocated_ms"] // HOUR_MS for row in after] == [5, 1, 3]
    label("train-9wz4c", "other")
    assert [row["charge"] for row in report("usage", by="family")] == [
        row["charge"] for row in before
    ], "until a rollup moves its days, every report has the family of before"
    runs.settle()
    found = {row["family"]: row["charge"] for row in report("usage", by="family")}
    assert {name: Decimal(charge) for name, charge in found.items()} == {
        "llama-70b": Decimal(2),
        "other": Decimal(2),
        "train": Decimal(6),
    }
    assert not hasattr(ChargeLine, "family")
    [row] = report("usage", by="family", family="other")
    assert Decimal(row["charge"]) == 2


def label(
    name: str,
    *values: str,
    created: datetime | None = TEN,
    key: str = "label_family",
) -> None:
    """A pod whose family label had these values, one after the other."""
    pod = Pod.objects.get(name=name)
    at = int(TEN.timestamp() * 1000)
    pod.record = {
        **pod.record,
        "created_ms": int(created.timestamp() * 1000) if created else None,
        "labels": [
            [at + n, {key: value} if value else {}] for n, value in enumerate(values)
        ],
    }
    pod.save()
    resolve_pods(pod.cluster, [pod.pk])


def family(kind: str = "Job", name: str = "tune-7xk2p") -> str:
    move_families(Cluster.objects.get().pk)
    return Workload.objects.get(kind=kind, name=name).family


def pods_of(*names: str, job: str = "tune-7xk2p") -> None:
    cluster = Cluster.objects.get()
    space, _ = Namespace.objects.get_or_create(cluster=cluster, name="a")
    for name in names:
        Pod.objects.create(
            cluster=cluster,
            uid=f"uid-{name}",
            name=name,
            namespace=space,
            record={"owner_kind": "Job", "owner_name": job},
        )


@pytest.fixture
def job(books: Books) -> None:
    """Three pods of one job without labels."""
    Cluster.objects.create(name="north")
    pods_of("p0", "p1", "p2")
    resolve_pods(Cluster.objects.get())


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_pod_that_was_created_last_names_the_family(
    job: None, order: Sequence[int]
) -> None:
    """In whatever order the samples are read; pods without a label do not count."""
    assert family() == "tune"
    made = [("p0", ["old"], TEN), ("p1", ["new"], TEN + HOUR), ("p2", [], TEN + DAY)]
    for n in order:
        name, values, created = made[n]
        label(name, *values, created=created)
    assert family() == "new"
    resolve_pods(Cluster.objects.get())
    assert family() == "new"


@pytest.mark.parametrize("first", ["p0", "p1"])
def test_pods_created_together_are_ordered_by_uid(job: None, first: str) -> None:
    for name in (first, *({"p0", "p1"} - {first})):
        label(name, f"of-{name}")
    assert family() == "of-p1"


def test_a_label_that_changes_counts_from_then_on_for_all_of_the_work(
    job: None,
) -> None:
    label("p0", "z")
    label("p0", "z", "a")
    assert family() == "a"
    label("p0", "z", "a", "")
    assert family() == "a", "a label that is taken away leaves the family as it is"
    label("p0", "z", "a", "", "<script>")
    assert family() == "a", "so does a value that Kubernetes would refuse"


def test_other_labels_of_the_setup_replace_the_usual_one(
    job: None, books: Books
) -> None:
    label("p0", "usual")
    label("p1", "named", created=TEN + HOUR, key="label_ml_example_com_run_of")
    assert family() == "usual"
    books.configure("labels: {family: [ml.example.com/run-of]}")
    assert family() == "named"
    books.configure("labels: {family: [example.com/none]}")
    assert family() == "tune"
    assert Workload.objects.get(name="tune-7xk2p").family_pod is None
    books.configure("labels: {family: []}")
    assert family() == "usual", "none named: the usual one"


def test_a_late_owner_takes_its_pods_and_their_label(job: None) -> None:
    label("p0", "named")
    Owner.objects.create(
        namespace=Namespace.objects.get(name="a"),
        kind="Job",
        name="tune-7xk2p",
        owner_kind="CronJob",
        owner_name="tune",
    )
    for name in ("p1", "p2", "p0"):
        resolve_pods(Cluster.objects.get(), [Pod.objects.get(name=name).pk])
    assert family("CronJob", "tune") == "named"


def test_workloads_of_before_get_their_family_by_the_migration(job: None) -> None:
    """The rule stands a second time in the migration, in SQL."""
    module = importlib.import_module("accounting.migrations.0012_workload_family")
    cases = {(kind, name) for kind, name, _ in EXAMPLES}
    home = Namespace.objects.get(name="a")
    Workload.objects.bulk_create(
        Workload(cluster=home.cluster, namespace=home, kind=kind, name=name)
        for kind, name in sorted(cases)
    )
    label("p0", "old")
    label("p1", "first", "new", created=TEN + HOUR)
    label("p2", "<b>", created=TEN + DAY)
    Workload.objects.update(family="", family_pod=None)
    with connection.cursor() as cursor:
        cursor.execute(module.BY_NAME)
        cursor.execute(module.BY_LABEL)
    found = Workload.objects.exclude(name="tune-7xk2p")
    assert len(found) > 40
    for work in found:
        assert work.family == family_of(work.name, work.kind), work
    work = Workload.objects.get(name="tune-7xk2p")
    assert (work.family, work.family_pod) == ("new", Pod.objects.get(name="p1"))


def test_each_day_of_a_family_is_that_of_its_workloads(runs: Books) -> None:
    rows = report("usage", by="family,day")
    assert {row["day"] for row in rows} == {
        str(date(2026, 10, 6) + n * DAY) for n in range(5)
    }
