"""When kube-state was seen, and when a scrape is evidence that an object is absent (N9, N11).

Replicas of kube-state are one source; shards of it report different objects. A scraper that
was scraped between an object's first and last sample and never shows it is a shard of other
objects: its scrapes are not evidence for that object, whether it is a pod or a node (rules.md).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from accounting.core.interval import FAR_MS, Interval, union
from accounting.metering.rules.inventory.merge.samples import kube_steps
from accounting.metering.rules.inventory.records import (
    EVER,
    Inventory,
    NodeRecord,
    PodRecord,
    SampleSpan,
)
from accounting.metering.rules.samples.scraper_series import ScrapeSteps
from accounting.metering.rules.samples.series import ScraperIdentity
from accounting.metering.rules.samples.validity import far_apart, valid_until_ms


class VisibleObject(NamedTuple):
    """An object of kube-state: its first and last sample, and the scrapers that show it."""

    first_ms: int
    last_ms: int
    scrapers: Collection[ScraperIdentity]


def pod_shown(pod: PodRecord) -> VisibleObject:
    """The visibility of a pod in kube-state."""
    return VisibleObject(pod.first_ms, pod.last_ms, pod.scrapers)


def node_shown(node: NodeRecord) -> VisibleObject:
    """The visibility of a node's name in kube-state; it has samples."""
    return VisibleObject(node.spans[0].first_ms, node.spans[-1].last_ms, node.scrapers)


@dataclass(slots=True)
class KubeState:
    """The scrapes of all kube-state scrapers of a cluster.

    Attributes:
        steps: by scraper; their `times` are the loaded scrape times.
        spans: by scraper, of all its scrapes.
    """

    steps: dict[ScraperIdentity, ScrapeSteps]
    spans: dict[ScraperIdentity, list[SampleSpan]] = field(default_factory=dict)
    _latest: list[tuple[int, ScraperIdentity]] = field(default_factory=list)
    _ever_seen: list[Interval] | None = None

    def __post_init__(self) -> None:
        last: dict[ScraperIdentity, int] = {
            scraper: steps.times[-1]
            for scraper, steps in self.steps.items()
            if steps.times
        }
        for scraper, spans in self.spans.items():
            if spans:
                last[scraper] = max(last.get(scraper, 0), spans[-1].last_ms)
        self._latest = sorted(((at, key) for key, at in last.items()), reverse=True)

    def step_at(self, instant_ms: int, scrapers: Iterable[ScraperIdentity]) -> int:
        """The longest step of the scrapers that took a sample at an instant."""
        given = [
            self.steps[scraper].at(instant_ms)
            for scraper in scrapers
            if scraper in self.steps and _has(self.steps[scraper].times, instant_ms)
        ]
        known = [s.at(instant_ms) for k, s in self.steps.items() if k in set(scrapers)]
        return max(given or known or [30_000])

    def is_lacked(
        self, shown: VisibleObject, after_ms: int, before_ms: int | None = None
    ) -> bool:
        """True if a scrape after an instant, and before another, does not show an object.

        Scrapes of a shard of other objects do not count; if no scraper is known to have shown the
        object, every scrape counts.
        """
        for last_ms, scraper in self._latest:
            if last_ms <= after_ms:
                return False
            is_read = before_ms is None or self._is_read(
                scraper, after_ms + 1, before_ms - 1
            )
            if is_read and (
                scraper in shown.scrapers
                or not shown.scrapers
                or not self._is_read(scraper, shown.first_ms, shown.last_ms)
            ):
                return True
        return False

    def _is_read(self, scraper: ScraperIdentity, first_ms: int, last_ms: int) -> bool:
        """True if a scraper was scraped in [first_ms, last_ms], also before the loaded time.

        From the first loaded scrape on, all scrapes are loaded; before it, spans are used.
        """
        steps = self.steps.get(scraper)
        if steps is not None and len(steps.times):
            i = bisect_left(steps.times, first_ms)
            if i < len(steps.times) and steps.times[i] <= last_ms:
                return True
            if steps.times[0] <= first_ms:
                return False
        spans = self.spans.get(scraper, [])
        i = bisect_left(spans, first_ms, key=lambda span: span.last_ms)
        if i == len(spans) or spans[i].first_ms > last_ms:
            return False
        span = spans[i]
        is_edge = span.first_ms >= first_ms or span.last_ms <= last_ms
        return is_edge or far_apart(last_ms - first_ms, span.step_ms)

    def seen(self, period: Interval) -> list[Interval]:
        """The periods in which kube-state is seen, within a period: ascending and disjoint (N9)."""
        return _union(self._loaded(period))

    def _loaded(self, period: Interval) -> list[tuple[int, int]]:
        """The periods in which loaded scrapes are valid, within a period."""
        pieces: list[tuple[int, int]] = []
        for steps in self.steps.values():
            times = steps.times
            first = max(0, bisect_right(times, period.start_ms) - 1)
            for i in range(first, bisect_right(times, period.end_ms)):
                at = times[i]
                following = times[i + 1] if i + 1 < len(times) else None
                end = valid_until_ms(at, following, steps.at(at))
                pieces.append((max(at, period.start_ms), min(end, period.end_ms)))
        return pieces

    def is_seen(self, instant_ms: int) -> bool:
        """True if kube-state is seen at an instant."""
        return bool(self.seen(Interval(instant_ms, instant_ms + 1)))

    def seen_again_ms(self, instant_ms: int) -> int | None:
        """The first scrape after an instant; None without one."""
        later = [
            steps.times[i]
            for steps in self.steps.values()
            if (i := bisect_right(steps.times, instant_ms)) < len(steps.times)
        ]
        return min(later, default=None)

    def unseen_from_ms(self, instant_ms: int) -> int | None:
        """Where kube-state is no longer seen after an instant; None if it is not seen then."""
        if self._ever_seen is None:
            self._ever_seen = _union(self._before_loaded() + self._loaded(EVER))
        i = bisect_right(self._ever_seen, instant_ms, key=lambda seen: seen.start_ms)
        found = self._ever_seen[i - 1] if i else None
        return (
            found.end_ms if found is not None and found.contains(instant_ms) else None
        )

    def _before_loaded(self) -> list[tuple[int, int]]:
        """The periods in which scrapes were valid that are not loaded."""
        pieces: list[tuple[int, int]] = []
        for scraper, spans in self.spans.items():
            steps = self.steps.get(scraper)
            first_ms = steps.times[0] if steps is not None and steps.times else FAR_MS
            for span in spans:
                if span.first_ms < first_ms:
                    end_ms = min(span.last_ms + span.step_ms, first_ms)
                    pieces.append((span.first_ms, end_ms))
        return pieces


def _has(times: list[int], instant_ms: int) -> bool:
    i = bisect_right(times, instant_ms)
    return i > 0 and times[i - 1] == instant_ms


def _union(pieces: Iterable[tuple[int, int]]) -> list[Interval]:
    return union(Interval(low, high) for low, high in pieces if low < high)


def kube_state(inventory: Inventory) -> KubeState:
    """The scrapes of a cluster's kube-state."""
    steps = kube_steps(inventory)
    return KubeState(steps, {key: inventory.scrapers[key].spans for key in steps})
