"""When kube-state was seen, and what its silence about an object means (rules.md N9, N11).

Replicas of kube-state are one source; shards of it speak of different objects. Scrapers that
ever showed a common pod are one *group*; a scrape of another group does not count as
lacking a pod.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from accounting.domain.inventory import Inventory
from accounting.domain.observe import kube_steps
from accounting.domain.period import Period
from accounting.domain.series import Scraper
from accounting.domain.track import Steps, far_apart


@dataclass(slots=True)
class KubeState:
    """The scrapes of all kube-state scrapers of a cluster.

    Attributes:
        steps: by scraper; their `times` are the scrape times.
        group_of: scrapers of one shard share a group.
    """

    steps: dict[Scraper, Steps]
    group_of: dict[Scraper, Scraper]
    _members: dict[Scraper, list[Scraper]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for scraper in self.steps:
            self._members.setdefault(self.group_of[scraper], []).append(scraper)

    def step_at(self, instant_ms: int, scrapers: Iterable[Scraper]) -> int:
        """The longest step of the scrapers that took a sample at an instant."""
        given = [
            self.steps[scraper].at(instant_ms)
            for scraper in scrapers
            if scraper in self.steps and _has(self.steps[scraper].times, instant_ms)
        ]
        known = [s.at(instant_ms) for k, s in self.steps.items() if k in set(scrapers)]
        return max(given or known or [30_000])

    def has_scrape_after(self, instant_ms: int, scrapers: Iterable[Scraper]) -> bool:
        """True when a scraper of the same shard was read after an instant."""
        groups = {self.group_of[s] for s in scrapers if s in self.group_of}
        return any(
            self.steps[member].times[-1] > instant_ms
            for group in groups
            for member in self._members[group]
            if self.steps[member].times
        )

    def has_scrape_between(self, after_ms: int, before_ms: int | None) -> bool:
        """True when any scraper was read after an instant and before another (or ever)."""
        for steps in self.steps.values():
            i = bisect_right(steps.times, after_ms)
            if i < len(steps.times) and (
                before_ms is None or steps.times[i] < before_ms
            ):
                return True
        return False

    def seen(self, period: Period) -> list[Period]:
        """Where kube-state is seen within a period: ascending and disjoint (N9)."""
        pieces: list[tuple[int, int]] = []
        for steps in self.steps.values():
            times = steps.times
            first = max(0, bisect_right(times, period.start_ms) - 1)
            for i in range(first, bisect_right(times, period.end_ms)):
                at = times[i]
                end = at + steps.at(at)
                if i + 1 < len(times) and not far_apart(
                    times[i + 1] - at, steps.at(at)
                ):
                    end = times[i + 1]
                pieces.append((max(at, period.start_ms), min(end, period.end_ms)))
        return _union(pieces)

    def is_seen(self, instant_ms: int) -> bool:
        """True where kube-state is seen."""
        return bool(self.seen(Period(instant_ms, instant_ms + 1)))

    def seen_again_ms(self, instant_ms: int) -> int | None:
        """The first scrape after an instant; None without one."""
        later = [
            steps.times[i]
            for steps in self.steps.values()
            if (i := bisect_right(steps.times, instant_ms)) < len(steps.times)
        ]
        return min(later, default=None)

    def last_seen_ms(self) -> int | None:
        """The end of the validity of the very last scrape; None without any."""
        ends = [s.times[-1] + s.at(s.times[-1]) for s in self.steps.values() if s.times]
        return max(ends, default=None)


def _has(times: list[int], instant_ms: int) -> bool:
    i = bisect_right(times, instant_ms)
    return i > 0 and times[i - 1] == instant_ms


def _union(pieces: Iterable[tuple[int, int]]) -> list[Period]:
    merged: list[Period] = []
    for start, end in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if merged and start <= merged[-1].end_ms:
            merged[-1] = Period(merged[-1].start_ms, max(end, merged[-1].end_ms))
        else:
            merged.append(Period(start, end))
    return merged


def kube_state(inventory: Inventory) -> KubeState:
    """The scrapes of a cluster's kube-state, with replicas told from shards."""
    steps = kube_steps(inventory)
    group_of = {scraper: scraper for scraper in steps}

    def root(scraper: Scraper) -> Scraper:
        while group_of[scraper] != scraper:
            scraper = group_of[scraper]
        return scraper

    for pod in inventory.pods.values():
        known = [scraper for scraper in pod.scrapers if scraper in group_of]
        for other in known[1:]:
            first, second = sorted((root(known[0]), root(other)))
            group_of[second] = first
    return KubeState(steps, {scraper: root(scraper) for scraper in steps})
