"""A small cluster as its exporters and kube-state tell it, and what the reports say of it.

Scrapes fall on the full half minutes, so that figures come out round: a sample that is the
last of an hour counts to the hour's end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders import HOUR_ZERO, MODEL, SETUP, STEP, Text, times
from tests.integration.metering.support import report, run

KUBE: dict[str, str] = {"job": "kube-state-metrics", "instance": "kube-state:8080"}
START, HOUR = HOUR_ZERO, 3600  # seconds
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
UTIL = "DCGM_FI_DEV_GPU_UTIL"
PRODUCT = MODEL.replace(" ", "-")
GPU = "nvidia_com_gpu"
Value = float | str | Callable[[float], float | str]
Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Pod:
    """What kube-state shows of a pod; times in seconds, None for what never was."""

    name: str
    node: str = "n1"
    namespace: str = "vision"
    uid: str = ""
    units: int = 1
    resource: str = GPU
    created: float = START
    bound: float | None = START
    gone: float | None = None  # the first scrape without the object
    phase: str = "Succeeded"  # from `finished` on, where that is set
    finished: float | None = None
    completion: float | None = None  # kube_pod_completion_time, from then on
    requests: Mapping[str, int] = field(default_factory=dict)
    init: Mapping[str, int] = field(default_factory=dict)
    sidecars: Sequence[str] = ()
    owners: Sequence[tuple[str, str, bool]] = ()  # kind, name, is the controller
    is_started: bool = True  # Running from its bind on; else Pending until it ends

    @property
    def key(self) -> dict[str, object]:
        """The labels of all its series."""
        uid = self.uid or f"uid-{self.name}"
        return {"namespace": self.namespace, "pod": self.name, "uid": uid}


class Shown(NamedTuple):
    """One sample as any other program reads it: for naive answers."""

    name: str
    labels: Mapping[str, str]
    value: float
    at: float


class Scene:
    """What happened from `start` on, scrape by scrape."""

    def __init__(self, seconds: int = HOUR, step: int = STEP) -> None:
        """Nothing yet; `seconds` long, scraped each `step`."""
        self.text = Text()
        self.samples: list[Shown] = []
        self.scrapes = times(START, START + seconds, step)

    def add(
        self,
        name: str,
        value: Value,
        labels: Mapping[str, object],
        at: Sequence[float] | None = None,
    ) -> None:
        """Samples of one series; a value may depend on the time."""
        for when in self.scrapes if at is None else at:
            self._add(name, labels, value(when) if callable(value) else value, when)

    def _add(
        self, name: str, labels: Mapping[str, object], value: object, at: float
    ) -> None:
        self.text.add(name, labels, value, at)
        kept = {key: str(given) for key, given in labels.items()}
        self.samples.append(Shown(name, kept, float(str(value)), at))

    def gpu(
        self,
        uuid: str,
        value: Value,
        labels: Mapping[str, object] | None = None,
        node: str = "n1",
        metric: str = ENGINE,
        at: Sequence[float] | None = None,
    ) -> None:
        """Samples of one GPU (or instance) as dcgm-exporter shows it."""
        found: dict[str, object] = {
            "job": "dcgm-exporter",
            "instance": f"{node}:9400",
            "UUID": uuid,
            "Hostname": node,
            "modelName": MODEL,
        }
        self.add(metric, value, found | dict(labels or {}), at)

    def node(
        self,
        name: str = "n1",
        units: int | Mapping[str, int] = 1,
        labels: Mapping[str, object] | None = None,
        product: str = PRODUCT,
        at: Sequence[float] | None = None,
        lifecycle: str = "on-demand",
        instance: str = "kube-state:8080",
    ) -> None:
        """A node object: capacity by resource, and labels, `nvidia.com/` by default."""
        capacity = {GPU: units} if isinstance(units, int) else units
        own: dict[str, object] = {
            "job": "kube-state-metrics",
            "instance": instance,
            "node": name,
        }
        for resource, count in capacity.items():
            what = {"resource": resource, "unit": "integer"}
            self.add("kube_node_status_capacity", count, own | what, at)
        found: dict[str, object] = {"label_nvidia_com_gpu_product": product}
        if lifecycle:
            found["label_karpenter_sh_capacity_type"] = lifecycle
        for key, value in (labels or {}).items():
            is_whole = key.startswith("label_")
            found[key if is_whole else f"label_nvidia_com_{key}"] = value
        self.add("kube_node_labels", 1, own | found, at)

    def pod(self, *pods: Pod, instance: str = "kube-state:8080") -> None:
        """Pods as kube-state shows them."""
        for pod in pods:
            base = {"job": "kube-state-metrics", "instance": instance} | pod.key
            for at in self.scrapes:
                if pod.created <= at and (pod.gone is None or at < pod.gone):
                    for name, labels, value in _shown(pod, at):
                        self._add(name, base | dict(labels), value, at)

    def openmetrics(self) -> str:
        """The text; the samples of a series stand together, as strict readers want."""
        for lines in self.text.families.values():
            lines.sort(key=lambda line: line.rpartition("}")[0])
        return self.text.text()

    def read(self, folder: Path, setup: str = SETUP) -> None:
        """Set up, import and check the invariants, as a person does."""
        settings, data = folder / "setup.yaml", folder / "samples.om"
        settings.write_text(setup)
        run("configure", settings)
        data.write_text(self.openmetrics())
        run("import_metrics", "--cluster=north", data)
        assert "FAIL" not in run("verify")


def _shown(pod: Pod, at: float) -> Iterator[tuple[str, Mapping[str, object], object]]:
    is_bound = pod.bound is not None and at >= pod.bound
    node = {"node": pod.node if is_bound else ""}
    yield "kube_pod_info", node, 1
    yield "kube_pod_created", {}, f"{pod.created:.0f}"
    if is_bound:
        yield "kube_pod_status_scheduled_time", {}, f"{pod.bound:.0f}"
    what = {"resource": pod.resource, "unit": "integer"} | node
    main = pod.requests or ({"main": pod.units} if pod.units else {})
    for container, units in main.items():
        name = "kube_pod_container_resource_requests"
        yield name, {"container": container} | what, units
    for container, units in pod.init.items():
        name = "kube_pod_init_container_resource_requests"
        yield name, {"container": container} | what, units
    for container in pod.sidecars:
        labels: dict[str, object] = {"container": container, "restart_policy": "Always"}
        yield "kube_pod_init_container_info", labels, 1
    for kind, name, is_controller in pod.owners:
        owner: dict[str, object] = {"owner_kind": kind, "owner_name": name}
        owner["owner_is_controller"] = str(is_controller).lower()
        yield "kube_pod_owner", owner, 1
    is_over = pod.finished is not None and at >= pod.finished
    is_running = is_bound and pod.is_started
    phase = pod.phase if is_over else "Running" if is_running else "Pending"
    for each in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
        yield "kube_pod_status_phase", {"phase": each}, int(each == phase)
    if pod.completion is not None and at >= pod.completion:
        yield "kube_pod_completion_time", {}, f"{pod.completion:.0f}"


# --- reports -----------------------------------------------------------------------


def by(kind: str, dimension: str, **options: str) -> Rows:
    """The rows of a report by one dimension."""
    rows = report(kind, by=dimension, **options)
    return {row[dimension]: row for row in rows}


def usage(dimension: str, **options: str) -> Rows:
    """`report usage`."""
    return by("usage", dimension, **options)


def gpus(**options: str) -> Rows:
    """`report ledger` by GPU."""
    return by("ledger", "gpu", **options)


def holds() -> Rows:
    """`report holds` by uid."""
    return {row["uid"]: row for row in report("holds")}


def issues() -> set[tuple[str, str]]:
    """Code and subject of what `report issues` lists."""
    return {(row["code"], row["subject"]) for row in report("issues")}


def states(row: Mapping[str, Any]) -> dict[str, int]:
    """The states of a ledger row that are not zero, in milliseconds."""
    names = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
    return {name: row[f"{name}_ms"] for name in names if row[f"{name}_ms"]}


def hours(milliseconds: float) -> float:
    """GPU-hours."""
    return milliseconds / HOUR_MS
