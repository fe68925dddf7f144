"""A small cluster as series, for tests of the measuring domain: times in seconds from 0."""

from collections.abc import Mapping, Sequence

import numpy as np

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.attribute import WindowLedger, attribute
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import derive
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    Reading,
    ScraperIdentity,
    Series,
)

KUBE = ScraperIdentity("job", "one")
ZERO_MS = 1_790_848_800_000  # 1 October 2026, 10:00 UTC


def ms(seconds: float) -> int:
    """An instant, in milliseconds since 1970."""
    return ZERO_MS + round(seconds * 1000)


class Fleet:
    """Collects series; scraped every `step` seconds unless times are given."""

    def __init__(self, until: float = 600, step: float = 30) -> None:
        self.until, self.step = until, step
        self.series: list[Series] = []

    @property
    def scrapes(self) -> list[float]:
        """Every scrape time."""
        return [i * self.step for i in range(int(self.until // self.step))]

    def add(
        self,
        metric: str,
        samples: Mapping[float, float],
        labels: Mapping[str, str] | None = None,
        gpu: GpuKey | None = None,
        scraper: ScraperIdentity = KUBE,
    ) -> None:
        """One series."""
        times = np.array([ms(t) for t in samples], np.int64)
        values = np.array(list(samples.values()), np.float64)
        self.series.append(
            Series(metric, metric, scraper, times, values, labels or {}, gpu)
        )

    def node(
        self,
        name: str,
        gpus: int,
        times: Sequence[float] | None = None,
        scraper: ScraperIdentity = KUBE,
    ) -> None:
        """A node object with whole GPUs."""
        shown = dict.fromkeys(self.scrapes if times is None else times, float(gpus))
        labels = {"node": name, "resource": "nvidia_com_gpu"}
        self.add("kube_node_status_capacity", shown, labels, scraper=scraper)

    def pod(
        self,
        name: str,
        node: str,
        bound: float,
        times: Sequence[float],
        *,
        units: int = 1,
        uid: str = "",
        ended: float | None = None,
        scraper: ScraperIdentity = KUBE,
    ) -> None:
        """A pod of namespace `ns`; `ended` adds completion and phase from then on."""
        key = {"namespace": "ns", "pod": name, "uid": uid or f"uid-{name}"}
        ones = dict.fromkeys(times, 1.0)
        self.add("kube_pod_info", ones, key | {"node": node}, scraper=scraper)
        request = {"container": "c", "node": node, "resource": "nvidia_com_gpu"}
        self.add(
            "kube_pod_container_resource_requests",
            dict.fromkeys(times, float(units)),
            key | request,
            scraper=scraper,
        )
        start = dict.fromkeys(times, ms(bound) / 1000)
        self.add("kube_pod_status_scheduled_time", start, key, scraper=scraper)
        if ended is not None:
            after = [t for t in times if t >= ended]
            done = dict.fromkeys(after, ms(ended) / 1000)
            self.add("kube_pod_completion_time", done, key, scraper=scraper)
            phase = dict.fromkeys(after, 1.0)
            over = key | {"phase": "Succeeded"}
            self.add("kube_pod_status_phase", phase, over, scraper=scraper)

    def gpu(
        self,
        uuid: str,
        node: str,
        samples: Mapping[float, float],
        *,
        pod: str = "",
        metric: str = "engine_active",
    ) -> None:
        """Activity of one GPU, naming a pod of `ns` where one is given."""
        named = PodName("ns", pod) if pod else None
        self.add(metric, samples, gpu=GpuKey(uuid, node, plain=named))

    def every(
        self, value: float, start: float = 0, end: float = 1e9
    ) -> dict[float, float]:
        """The same value at every scrape in [start, end)."""
        return {t: value for t in self.scrapes if start <= t < end}

    def reading(self) -> Reading:
        """All series."""
        return Reading(tuple(self.series))

    def ledgers(self) -> list[WindowLedger]:
        """Every window of the fleet's time, through the whole domain."""
        whole = Interval(ZERO_MS, ms(self.until))
        inventory = Inventory()
        observe(inventory, [self.reading()], whole)
        derived = derive(inventory, whole, whole.end_ms)
        timelines = node_timelines(inventory, derived, whole, whole.end_ms)
        windows = list(whole.windows())
        return attribute(windows, [self.reading()], timelines)

    def present_ms(self, uuid: str, window: Interval) -> int:
        """For how long a GPU is there in a window, on whatever node."""
        whole = Interval(ZERO_MS, ms(self.until))
        inventory = Inventory()
        observe(inventory, [self.reading()], whole)
        total = 0
        for presence in derive(inventory, whole, whole.end_ms).presences:
            end = whole.end_ms if presence.end_ms is None else presence.end_ms
            span = Interval(presence.start_ms, max(presence.start_ms, end))
            part = span.intersection(window)
            if presence.uuid == uuid and part is not None:
                total += part.length_ms
        return total

    def seconds(self, uuid: str, pod: str = "") -> dict[str, float]:
        """States of one GPU that are not zero, over all windows, in seconds."""
        uid = f"uid-{pod}" if pod else ""
        found: dict[str, float] = {}
        for ledger in self.ledgers():
            for line in ledger.lines:
                if line.uuid == uuid and line.pod_uid == uid:
                    for state in [
                        "busy",
                        "idle",
                        "unknown",
                        "free",
                        "stranded",
                        "stray",
                        "dark",
                    ]:
                        value = getattr(line, f"{state}_ms") / 1000
                        if value:
                            found[state] = found.get(state, 0.0) + value
        return found
