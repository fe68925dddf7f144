"""The past as OpenMetrics files: what a Prometheus would have stored, with a coarse step.

One file for each part of the history, sorted by family, each series in order of time, with `# EOF`
at the end. Series of kube-state whose value never changes are written once an hour, which
is equivalent to writing them every time; series that show that an object exists are written at
every step. Memory and power, which the ledger does not need, are written for the last week only.
"""

import gzip
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from portal.demo.metrics.exporter import rows
from portal.demo.metrics.exposition import START_S, namespaces
from portal.demo.metrics.labels import (
    Constant,
    node_cordon,
    node_facts,
    pod_completion,
    pod_facts,
    pod_owners,
    pod_phase,
    pod_place,
    series,
)
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import NodeObject
from portal.demo.scenario.pod import SimulatedPod
from portal.demo.scenario.story import DAY_S, HOUR_S, WEEK_S

STEP_S = 300
KUBE_SCRAPER = 'job="kube-state-metrics",instance="kube-state-metrics:8080"'
EXPORTER_PORT = 9400
AMD_PORT = 5000
WHOLE_S = WEEK_S  # before the end of the history: with memory and power
_SELDOM = HOUR_S // STEP_S  # steps between two rows of a series that never changes


@dataclass(frozen=True, slots=True)
class FileInterval:
    """The time of one file: samples at `last_s`, every step before it, and at `start_s`."""

    start_s: int
    last_s: int

    @property
    def times_s(self) -> tuple[int, ...]:
        """The sample times, ascending, in Unix seconds."""
        times = range(self.last_s, self.start_s, -STEP_S)
        return (self.start_s, *times[::-1])

    @property
    def end_s(self) -> int:
        """One second after the last sample."""
        return self.last_s + 1


def stretches(start_s: int, last_s: int, longest_s: int = DAY_S) -> list[FileInterval]:
    """The time of every file, newest first.

    The newest sample is at `last_s`, so that live scrapes from then on continue it without a
    gap; the oldest one at `start_s`, for the same reason at the other end.
    """
    found: list[FileInterval] = []
    end = last_s
    while end > start_s:
        start = end - longest_s + STEP_S
        if start - STEP_S <= start_s:
            start = start_s
        found.append(FileInterval(start, end))
        end = start - STEP_S
    return found


def write(engine: Engine, stretch: FileInterval, path: Path) -> int:
    """Write the file of a part, gzipped if its name says so; returns the number of samples.

    The engine must have been advanced to the part's end.
    """
    writer = _Writer(engine, stretch)
    is_packed = path.suffix == ".gz"
    with (
        gzip.open(path, "wb", compresslevel=1) if is_packed else path.open("wb") as file
    ):
        for name, rows_of_it in writer.families():
            file.write(f"# TYPE {name} gauge\n".encode())
            for row in rows_of_it:
                file.write(row.text().encode())
        file.write(b"# EOF\n")
    return writer.samples


class _Series(NamedTuple):
    """The samples of a series; their text is 30 times as large, and made when it is written."""

    head: str
    values: Sequence[str]
    ends: Sequence[str]  # the sample's time and the end of the line

    def text(self) -> str:
        pairs = zip(self.values, self.ends, strict=True)
        return "".join(f"{self.head} {value} {end}" for value, end in pairs)


class _Writer:
    """One file: all series, by family."""

    def __init__(self, engine: Engine, stretch: FileInterval) -> None:
        self.engine = engine
        self.times = np.array(stretch.times_s, np.int64)
        self.stretch = stretch
        self.samples = 0
        self._ends = [f"{at}\n" for at in stretch.times_s]
        seen = [engine.is_kube_seen(at) for at in stretch.times_s]
        self._is_kube_seen = np.array(seen)
        self._is_recent = stretch.last_s > engine.story.at(1) - WHOLE_S
        self._families: dict[str, list[_Series]] = defaultdict(list)

    def families(self) -> Iterator[tuple[str, list[_Series]]]:
        """The name of every family and its series."""
        start, end = self.stretch.start_s, self.stretch.end_s
        for node in self.engine.nodes.values():
            if node.joined_s < end and (node.left_s is None or node.left_s > start):
                self._node(node)
        self._nodes()
        for fact in namespaces():
            self._constant(fact, start, end)
        owners: dict[str, tuple[Constant, int, int]] = {}
        for pod in self.engine.pods_between(start, end):
            self._pod(pod, owners)
        for fact, low, high in owners.values():
            self._constant(fact, low, high)
        yield from self._families.items()

    def _rows(
        self, head: str, name: str, values: Sequence[str], ends: list[str]
    ) -> None:
        self._families[name].append(_Series(head, values, ends))
        self.samples += len(values)

    # --- exporters

    def _node(self, node: NodeObject) -> None:
        read = [i for i, at in enumerate(self.stretch.times_s) if node.is_read(at)]
        if not read:
            return
        extra = f'job="dcgm-exporter",instance="{node.name}:{EXPORTER_PORT}"'
        if node.pool.model.is_amd:
            extra = f'job="amd-exporter",instance="{node.name}:{AMD_PORT}"'
        found = rows(self.engine, node, self.times[read], is_whole=self._is_recent)
        for row in found:
            ends = [self._ends[read[i]] for i in row.at.tolist()]
            for name, values in row.values.items():
                self._rows(series(name, row.labels, extra), name, values, ends)

    # --- kube-state

    def _constant(
        self, fact: Constant, low: int, high: int, *, is_seldom: bool = True
    ) -> None:
        """A series that exists in [low, high)."""
        times = self.stretch.times_s
        first, last = bisect_left(times, low), bisect_right(times, high - 1)
        seen = (np.flatnonzero(self._is_kube_seen[first:last]) + first).tolist()
        if not seen:
            return
        if is_seldom:
            seen = seen[::_SELDOM]
        values, ends = [str(fact.value)] * len(seen), [self._ends[i] for i in seen]
        self._rows(fact.head(KUBE_SCRAPER), fact.name, values, ends)

    def _pod(
        self, pod: SimulatedPod, owners: dict[str, tuple[Constant, int, int]]
    ) -> None:
        end = self.stretch.end_s
        gone = end if pod.gone_s is None else min(pod.gone_s, end)
        created = max(pod.created_s, self.stretch.start_s)
        bound = gone if pod.bound_s is None else min(max(pod.bound_s, created), gone)
        for fact in pod_facts(pod):
            self._constant(fact, created, gone)
        for fact in pod_owners(pod):
            known = owners.get(fact.head())
            low, high = (known[1], known[2]) if known else (created, gone)
            owners[fact.head()] = fact, min(low, created), max(high, gone)
        for is_bound, low, high in ((False, created, bound), (True, bound, gone)):
            for fact in pod_place(pod, is_bound=is_bound) if low < high else ():
                is_seldom = fact.name != "kube_pod_info"
                self._constant(fact, low, high, is_seldom=is_seldom)
        self._phases(pod, created, bound, gone)

    def _phases(self, pod: SimulatedPod, created: int, bound: int, gone: int) -> None:
        started = gone if pod.request.image else min(bound + START_S, gone)
        done = gone if pod.ended_s is None or not pod.phase else pod.ended_s
        done = min(max(done, created), gone)
        started = min(started, done)
        self._constant(pod_phase(pod, "Pending"), created, started)
        self._constant(pod_phase(pod, "Running"), started, done)
        if pod.phase:
            self._constant(pod_phase(pod, pod.phase), done, gone, is_seldom=False)
            self._constant(pod_completion(pod), done, gone, is_seldom=False)

    def _nodes(self) -> None:
        """Nodes as kube-state shows them."""
        start, end = self.stretch.start_s, self.stretch.end_s
        for node in self.engine.nodes.values():
            low = max(start, node.joined_s)
            high = end if node.left_s is None else min(node.left_s, end)
            if low < high:
                for fact in node_facts(node):
                    is_seldom = fact.name != "kube_node_status_capacity"
                    self._constant(fact, low, high, is_seldom=is_seldom)
                self._cordons(node, low, high)

    def _cordons(self, node: NodeObject, low: int, high: int) -> None:
        """When a node of [low, high) was cordoned, and when it was not."""
        borders = {low, high}
        for span in node.cordons:
            borders |= {min(max(at, low), high) for at in (span.start_s, span.end_s)}
        for start, end in pairwise(sorted(borders)):
            is_cordoned = node.is_cordoned(start)
            for fact in node_cordon(node, is_cordoned=is_cordoned):
                self._constant(fact, start, end, is_seldom=not is_cordoned)
