"""P3: a real Prometheus to Postgres, against an obvious first implementation.

The alternative: prometheus-api-client, its DataFrame, Django's bulk_create with update_conflicts.
It gets the ids of GPUs and pods, and does not derive holds: it books a sample's step to
the pod that the sample names. Jobs here change on the grid of kube-state's scrapes, where
that is exact.
"""

import statistics
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connection

from accounting.core.interval import WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster, Gpu, Source
from accounting.metering.models.pod import Pod
from accounting.metering.models.usage import UsageWindow
from accounting.metering.tasks import pipeline
from accounting.metering.tasks.facts import partitions
from accounting.metering.tasks.windows import schedule
from bench.fleet import START_S, Fleet
from bench.measure import Figure, interleaved, ratio
from tests import programs
from tests.prometheus_server import make_history, serving

GPUS = 4096
HOURS = 2
STEP_MS = 30_000
PERIOD = Interval(START_S * 1000, (START_S + HOURS * 3600) * 1000)
METRIC = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
Answer = set[tuple[Any, ...]]


def figures(wanted: set[str]) -> Iterator[Figure]:
    """The requested figures of this module (all if none is named)."""
    if wanted and "P3" not in wanted:
        return
    found = {2: programs.prometheus2(), 3: programs.prometheus3()}
    version = max((v for v, path in found.items() if path), default=None)
    if version is None or programs.promtool() is None:
        print("P3 not run: no Prometheus or promtool here (make provision)")
        return
    with TemporaryDirectory(prefix="gpu-ledger-bench-") as name:
        folder = Path(name)
        Fleet(GPUS, HOURS + 1, grid_s=60).write_one(folder / "history.om")
        store = make_history(folder / "history.om", folder / "store", seconds=600)
        with serving(version, store, folder) as address:
            yield from _end_to_end(address, version)


def _end_to_end(address: str, version: int) -> Iterator[Figure]:
    cluster = _empty(address)
    _ours(cluster)
    answer = _answer()
    rival = Rival(address, is_left_open=version >= 3)
    _empty(address)
    rival.run()
    theirs = rival.answer()
    assert answer == theirs, _difference(answer, theirs)
    held = [cluster]

    def before(name: str) -> None:
        if name in ("rival", "ours"):
            held[:] = [_empty(address)]

    seconds = interleaved(
        {
            "rival": rival.run,
            "rival again": rival.run,
            "ours": lambda: _ours(held[0]),
            "ours again": lambda: _ours_again(held[0]),
        },
        before=before,
    )
    what = f"Prometheus {version} to Postgres, {len(answer)} facts"
    for name, suffix, floor in (("first", "", 1.2), ("again", " again", 5.0)):
        theirs_s, ours_s = seconds[f"rival{suffix}"], seconds[f"ours{suffix}"]
        yield Figure(
            "P3",
            f"{what}, {name} run / DataFrame and bulk_create",
            ratio(theirs_s, ours_s),
            floor,
            detail={
                "s": statistics.median(ours_s),
                "rival s": statistics.median(theirs_s),
            },
        )


def _empty(address: str) -> Cluster:
    """A database with only a cluster and its source."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE accounting_cluster, usage_window, intensity_window CASCADE"
        )
        cursor.execute("CHECKPOINT")
    partitions.ensure([partitions.WINDOWS], PERIOD.start, PERIOD.end)
    cluster = Cluster.objects.create(name="bench")
    Source.objects.create(
        cluster=cluster, name="prometheus", kind="prometheus", settings={"url": address}
    )
    return cluster


def _ours(cluster: Cluster) -> None:
    """Every window of the period, through the product."""
    schedule.mark(cluster.pk, [PERIOD], "bench", create=True)
    _compute(cluster)


def _ours_again(cluster: Cluster) -> None:
    """The re-read of computed windows, as for every live source (rules.md N1)."""
    schedule.read_again(cluster.pk, PERIOD)
    _compute(cluster)


def _compute(cluster: Cluster) -> None:
    done = pipeline.ingest_all(cluster, within=PERIOD, newest_first=False)
    assert done.failed == 0
    assert done.windows >= PERIOD.length_ms // WINDOW_MS


_FIELDS = (
    "busy_ms",
    "idle_ms",
    "unknown_ms",
    "free_ms",
    "stray_ms",
    "samples_used",
)


def _answer(
    uuids: dict[int, str] | None = None, pods: dict[int, str] | None = None
) -> Answer:
    """The content of the table: by window, GPU and pod."""
    if uuids is None or pods is None:
        uuids = dict(Gpu.objects.values_list("pk", "uuid"))
        pods = dict(Pod.objects.values_list("pk", "name"))
    return {
        (at, uuids[gpu], pods.get(pod, ""), *counted)
        for at, gpu, pod, *counted in UsageWindow.objects.values_list(
            "window_start", "gpu_id", "pod_id", *_FIELDS
        )
    }


def _difference(ours: Answer, theirs: Answer) -> str:
    return f"ours only: {sorted(ours - theirs)[:3]}; rival only: {sorted(theirs - ours)[:3]}"


class Rival:
    """The alternative implementation; it gets ids by UUID and pod name."""

    def __init__(self, address: str, *, is_left_open: bool) -> None:
        from prometheus_api_client import PrometheusConnect

        self.connection = PrometheusConnect(url=address)
        self.width_ms = 3_600_000 - (0 if is_left_open else 1)
        self.gpus = {uuid: pk for pk, uuid in Gpu.objects.values_list("pk", "uuid")}
        self.nodes = dict.fromkeys(self.gpus, 1)
        self.pods = {name: pk for pk, name in Pod.objects.values_list("pk", "name")}
        self.pods[""] = 0
        self.cluster = Cluster.objects.get().pk
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT a.attname FROM pg_index i
                   JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
                   WHERE i.indrelid = 'usage_window'::regclass AND i.indisprimary"""
            )
            self.key = [name for (name,) in cursor.fetchall()]

    def run(self) -> None:
        """Every hour of the period."""
        for hour in PERIOD.hours():
            self._store(self._read(hour))

    def _read(self, hour: Interval) -> Any:
        from prometheus_api_client import MetricRangeDataFrame

        answer = self.connection.custom_query(
            f"{METRIC}[{self.width_ms}ms]", params={"time": (hour.end_ms - 1) / 1000}
        )
        frame = MetricRangeDataFrame(answer, ts_as_datetime=False).reset_index()
        frame["value"] = frame["value"].astype(float)
        frame["exported_pod"] = frame["exported_pod"].fillna("")
        frame["window"] = (frame["timestamp"] // 300).astype(int) * 300
        grouped = frame.groupby(["window", "UUID", "exported_pod"])["value"]
        return grouped.agg(["sum", "count"]).reset_index()

    def _store(self, frame: Any) -> None:
        UsageWindow.objects.bulk_create(
            [
                self._row(at, uuid, pod, round(total * STEP_MS), count)
                for at, uuid, pod, total, count in frame.itertuples(index=False)
            ],
            update_conflicts=True,
            unique_fields=self.key,
            update_fields=[*_FIELDS, "samples_expected"],
            batch_size=1000,
        )

    def _row(
        self, at: int, uuid: str, pod: str, busy_ms: int, count: int
    ) -> UsageWindow:
        rest = count * STEP_MS - busy_ms
        states = (
            {"busy_ms": busy_ms, "idle_ms": rest}
            if pod
            else {"stray_ms": busy_ms, "free_ms": rest}
        )
        return UsageWindow(
            cluster_id=self.cluster,
            window_start=datetime.fromtimestamp(at, UTC),
            gpu_id=self.gpus[uuid],
            pod_id=self.pods[pod],
            node_id=self.nodes[uuid],
            metric=1,
            samples_expected=count,
            samples_used=count,
            **states,
        )

    def answer(self) -> Answer:
        """Its result."""
        return _answer(
            {pk: uuid for uuid, pk in self.gpus.items()},
            {pk: name for name, pk in self.pods.items()},
        )
