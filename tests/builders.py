"""A tiny cluster as exporter and kube-state text: fixed times, no randomness.

Numbers in tests come through the importer, as they do for people.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HOUR_ZERO = 1_790_848_800  # 1 October 2026, 10:00 UTC, in seconds
MODEL = "NVIDIA A100-SXM4-80GB"
STEP = 30  # seconds between scrapes


@dataclass
class Text:
    """OpenMetrics text in the making; families stay together."""

    families: dict[str, list[str]] = field(default_factory=dict)

    def add(
        self, name: str, labels: Mapping[str, object], value: object, at: float
    ) -> None:
        """One sample."""
        body = ",".join(f'{key}="{value_}"' for key, value_ in labels.items())
        self.families.setdefault(name, []).append(f"{name}{{{body}}} {value} {at:.3f}")

    def node(self, name: str, gpus: int, times: Iterable[float]) -> None:
        """A node object with whole GPUs."""
        for at in times:
            resource = {"node": name, "resource": "nvidia_com_gpu", "unit": "integer"}
            self.add("kube_node_status_capacity", resource, gpus, at)
            labels = {
                "node": name,
                "label_nvidia_com_gpu_product": MODEL.replace(" ", "-"),
                "label_nvidia_com_gpu_count": gpus,
                "label_karpenter_sh_capacity_type": "on-demand",
            }
            self.add("kube_node_labels", labels, 1, at)

    def pod(
        self,
        name: str,
        times: Iterable[float],
        *,
        node: str,
        bound: float,
        namespace: str = "vision",
        units: int = 1,
        completed: float | None = None,
    ) -> None:
        """A pod as kube-state shows it; `completed` also gives it a terminal phase."""
        key = {"namespace": namespace, "pod": name, "uid": f"uid-{name}"}
        for at in times:
            self.add("kube_pod_info", key | {"node": node}, 1, at)
            request = {"container": "main", "node": node, "resource": "nvidia_com_gpu"}
            self.add("kube_pod_container_resource_requests", key | request, units, at)
            self.add("kube_pod_created", key, f"{bound - 60:.0f}", at)
            self.add("kube_pod_status_scheduled_time", key, f"{bound:.0f}", at)
            if completed is not None and at >= completed:
                self.add("kube_pod_completion_time", key, f"{completed:.0f}", at)
                self.add("kube_pod_status_phase", key | {"phase": "Succeeded"}, 1, at)

    def utilization(
        self,
        uuid: str,
        node: str,
        samples: Mapping[float, float],
        *,
        pod: str = "",
        namespace: str = "vision",
    ) -> None:
        """Engine activity of one GPU, by time."""
        labels: dict[str, object] = {"UUID": uuid, "Hostname": node, "modelName": MODEL}
        if pod:
            labels |= {"namespace": namespace, "pod": pod}
        for at, value in samples.items():
            self.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, value, at)

    def text(self, only: str = "") -> str:
        """The whole text, or the families whose name starts so."""
        lines: list[str] = []
        for name, samples in self.families.items():
            if name.startswith(only):
                lines += [f"# TYPE {name} gauge", *samples]
        return "\n".join([*lines, "# EOF", ""])

    def between(self, start: float, end: float) -> str:
        """The part of the text with sample times in [start, end)."""
        lines: list[str] = []
        for name, samples in self.families.items():
            inside = [s for s in samples if start <= float(s.rsplit(" ", 1)[1]) < end]
            if inside:
                lines += [f"# TYPE {name} gauge", *inside]
        return "\n".join([*lines, "# EOF", ""])

    def write(self, path: Path, text: str | None = None) -> Path:
        """Put the text into a file."""
        path.write_text(self.text() if text is None else text)
        return path


def times(start: float, end: float, step: float = STEP) -> list[float]:
    """Scrape times in [start, end)."""
    count = int((end - start + step - 1) // step)
    return [start + i * step for i in range(count)]


def two_hours() -> Text:
    """Two nodes with two GPUs each for two hours: a pod that moves, one that ends, a gap.

    `train` holds both GPUs of n1 from 10:10:05 to 11:20:10; `batch` one of n2 from 10:40
    until it disappears after 11:40; the exporter of n2 is silent from 10:50 to 11:00.
    """
    text = Text()
    start, end = HOUR_ZERO, HOUR_ZERO + 7200
    scrapes = times(start, end)
    for node in ("n1", "n2"):
        text.node(node, 2, scrapes)
    bound, done = start + 605, start + 4810
    text.pod(
        "train",
        [t for t in scrapes if bound < t < done + 600],
        node="n1",
        bound=bound,
        units=2,
        completed=done,
    )
    late = start + 2400
    text.pod(
        "batch",
        [t for t in scrapes if late < t <= start + 6000],
        node="n2",
        bound=late,
        namespace="robotics",
    )
    for i, uuid in enumerate(("GPU-1a", "GPU-1b")):
        held = {t + 7: 0.5 + i / 4 for t in scrapes if bound < t + 7 < done}
        text.utilization(uuid, "n1", held, pod="train")
        text.utilization(uuid, "n1", {t + 7: 0.0 for t in scrapes if t + 7 not in held})
    shown = [t + 11 for t in scrapes if not start + 3000 <= t + 11 < start + 3600]
    held = {t: 0.9 for t in shown if late < t < start + 6000}
    text.utilization("GPU-2a", "n2", held, pod="batch", namespace="robotics")
    text.utilization("GPU-2a", "n2", {t: 0.0 for t in shown if t not in held})
    text.utilization("GPU-2b", "n2", dict.fromkeys(shown, 0.25))
    return text


SETUP = """
billing: {currency: EUR, timezone: Europe/Berlin}
teams:
  - {slug: vision, name: Vision, department: Research, cost_centre: "100"}
  - {slug: robotics, name: Robotics}
bindings:
  - {namespace: vision, team: vision}
  - {namespace: "robot*", team: robotics}
prices:
  - {model: NVIDIA-A100-SXM4-80GB, rate_per_gpu_hour: "2.10", cost_per_gpu_hour: "1.70"}
"""
