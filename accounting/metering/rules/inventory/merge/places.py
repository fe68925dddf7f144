"""The node of a GPU whose labels name several (rules.md N14; trap T35).

`Hostname` of dcgm-exporter is the name of its pod, or `localhost`, if nothing sets NODE_NAME.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.inventory.merge.operations import within
from accounting.metering.rules.samples.series import GpuKey, Reading, Series


def placed(readings: Sequence[Reading], known: Collection[str]) -> list[Reading]:
    """Readings whose GPUs are on the first of their nodes that kube-state shows.

    Args:
        readings: GPUs are on the first node that their labels name.
        known: nodes that kube-state ever showed; those of these readings are added.
    """
    shown = set(known)
    for reading in readings:
        for series in reading.series:
            if series.metric.startswith("kube_node_"):
                shown.add(series.labels.get("node", ""))
    known_keys: dict[GpuKey, GpuKey] = {}

    def moved(series: Series) -> Series:
        gpu = series.gpu
        if gpu is None or not gpu.names or gpu.node in shown:
            return series
        if gpu not in known_keys:
            known_keys[gpu] = _moved(gpu, shown)
        return replace(series, gpu=known_keys[gpu])

    return [
        replace(reading, series=tuple(moved(series) for series in reading.series))
        if any(series.gpu is not None and series.gpu.names for series in reading.series)
        else reading
        for reading in readings
    ]


def _moved(gpu: GpuKey, shown: Collection[str]) -> GpuKey:
    node = next((name for _, name in gpu.names if name in shown), gpu.node)
    uuid = gpu.uuid
    if uuid.startswith(f"{gpu.node}/amd-"):
        uuid = node + uuid.removeprefix(gpu.node)
    return gpu._replace(node=node, uuid=uuid)


def other_names(readings: Iterable[Reading], period: Interval) -> list[Issue]:
    """Nodes whose exporter calls them by a name that no node has."""
    found: dict[str, Issue] = {}
    for reading in readings:
        for series in reading.series:
            gpu = series.gpu
            if gpu is None or not gpu.names or gpu.names[0][1] == gpu.node:
                continue
            times = series.times_ms[within(series, period)]
            if not len(times):
                continue
            (wrong, name), right = gpu.names[0], _label_of(gpu)
            before = found.get(gpu.node)
            first, last = int(times[0]), int(times[-1])
            found[gpu.node] = Issue(
                code="hostname_of_no_node",
                subject=gpu.node,
                message=f"`{wrong}` of its GPUs is {name}, which is not a node that "
                f"kube-state-metrics shows; `{right}` is {gpu.node}, which counts.",
                first_ms=first if before is None else min(first, before.first_ms),
                last_ms=last if before is None else max(last, before.last_ms),
                severity="info",
            )
    return list(found.values())


def names_of(readings: Iterable[Reading]) -> dict[str, str]:
    """By UUID, the labels that name a GPU's node, where they differ: for a person."""
    return {
        series.gpu.uuid: " or ".join(
            f"{name} (`{label}`)" for label, name in series.gpu.names
        )
        for reading in readings
        for series in reading.series
        if series.gpu is not None and series.gpu.names
    }


def _label_of(gpu: GpuKey) -> str:
    """The label that names the node of a GPU."""
    return next(label for label, name in gpu.names if name == gpu.node)
