"""What happens to GPUs and their samples in a fleet, read from samples alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from tests.oracle.observed import HOUR, Fleet
from tests.oracle.samples import ENGINE, UTIL, WINDOW, Sample


def too_many_uuids(fleet: Fleet) -> bool:
    """More UUIDs in one scrape of a node than its capacity ever was, whole GPUs."""
    most: dict[str, float] = defaultdict(float)
    for s in fleet.kube:
        if s.name.endswith("_capacity") and s.labels["resource"] == "nvidia_com_gpu":
            most[s.labels["node"]] = max(most[s.labels["node"]], s.value)
    there: dict[tuple[str, int], set[str]] = defaultdict(set)
    for s in fleet.exporter:
        node = s.labels.get("Hostname") or s.labels["hostname"]
        there[node, s.at].add(s.labels.get("UUID", ""))
    return any(
        len(uuids) > most[node] for (node, _), uuids in there.items() if node in most
    )


def amd(kind: str, *, is_labelled: bool) -> Callable[[Fleet], bool]:
    def happens(fleet: Fleet) -> bool:
        hosts = {
            s.labels.get("Hostname") or s.labels["hostname"]
            for s in fleet.exporter
            if s.labels.get("gpu_compute_partition_type") == kind
        }
        said = {
            s.labels["node"]
            for s in fleet.kube
            if "label_amd_com_compute_memory_partition" in s.labels
        }
        return bool(hosts & said if is_labelled else hosts - said)

    return happens


def zeros_on_mig(name: str) -> Callable[[Fleet], bool]:
    """Five zeros of one instance in a window, beside `name`."""

    def happens(fleet: Fleet) -> bool:
        zeros: Counter[tuple[str, str, int]] = Counter()
        beside: set[tuple[str, str, int]] = set()
        for s in fleet.exporter:
            if "GPU_I_ID" not in s.labels:
                continue
            key = s.labels["UUID"], s.labels["GPU_I_ID"], s.at // WINDOW
            zeros[key] += s.name == ENGINE and s.value == 0
            if s.name == name and s.value > 0:
                beside.add(key)
        return any(zeros[key] >= 5 for key in beside)

    return happens


def _wrong_ratios(fleet: Fleet) -> Iterator[tuple[str, list[Sample]]]:
    """Values of 1.1 to 100 by name of a ratio and window."""
    found: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for s in fleet.exporter:
        if s.name.endswith("_RATIO") and 1.1 < s.value <= 100:
            found[s.name, s.at // WINDOW].append(s)
    for (name, _), samples in found.items():
        yield name, samples


def _distinct(samples: Iterable[Sample]) -> int:
    return len({(s.labels["UUID"], s.at) for s in samples})


def silenced(fleet: Fleet) -> bool:
    return any(
        _distinct(samples) >= 3 and name not in fleet.setup.scales
        for name, samples in _wrong_ratios(fleet)
    )


def copied(fleet: Fleet) -> bool:
    return any(
        _distinct(samples) < 3 <= len(samples) for _, samples in _wrong_ratios(fleet)
    )


def declared(fleet: Fleet) -> bool:
    return any(
        _distinct(samples) >= 3 and name in fleet.setup.scales
        for name, samples in _wrong_ratios(fleet)
    )


def even(kind: str) -> Callable[[Fleet], bool]:
    """A window of only 0 and 1 under a name of whole percentages, of a scraper of a kind.

    By what it showed at other times: ratios, both, averages or percentages.
    """

    def happens(fleet: Fleet) -> bool:
        ever: dict[str, set[float]] = defaultdict(set)
        windows: dict[tuple[str, int], set[float]] = defaultdict(set)
        for s in fleet.exporter:
            if s.name == UTIL and 0 <= s.value <= 100:
                by = f"{s.labels['instance']} {s.labels.get('prometheus_replica')}"
                ever[by].add(s.value)
                windows[by, s.at // WINDOW].add(s.value)
        return any(
            1 in values and values <= {0, 1} and _kind(ever[by]) == kind
            for (by, _), values in windows.items()
        )

    return happens


def _kind(values: set[float]) -> str:
    is_odd, large = any(0 < v < 1 for v in values), {v for v in values if v > 1}
    if any(v != round(v) for v in large):
        return "averages"
    if is_odd:
        return "both" if large else "ratios"
    return "percentages" if large else "unknown"


def old_labels(fleet: Fleet) -> bool:
    """A pod that was named last more than an hour before it was shown last."""
    last: dict[str, int] = {}
    for s in fleet.exporter:
        name = s.labels.get("exported_pod") or s.labels.get("pod")
        if name:
            last[name] = max(last.get(name, 0), s.at)
    return any(
        shown[-1].at - last.get(shown[-1].labels["pod"], 2**60) > HOUR
        for shown in fleet.pods.values()
    )


def sampled_after_end(fleet: Fleet) -> bool:
    until = fleet.setup.retired
    return until is not None and any(s.at >= until for s in fleet.samples)


def label_in_snake_case(fleet: Fleet) -> bool:
    return any("label_eks_amazonaws_com_capacity_type" in s.labels for s in fleet.kube)
