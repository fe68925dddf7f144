"""The product's domain functions over raw samples in memory: no text, no database."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from accounting.core.interval import Interval, window_of
from accounting.core.ledger_line import STATES, LedgerLine
from accounting.metering.rules.attribution.attribute import attribute
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import data_end_ms, derive
from accounting.metering.rules.inventory.kube_state.job_samples import (
    EVER,
    counting,
    objects,
    records,
)
from accounting.metering.rules.inventory.kube_state.jobs import roles_of
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.exposition import RawSeries
from accounting.metering.sources.samples import SampleBatch, build_reading
from tests.oracle.comparison import HoldRow, of_gpus
from tests.oracle.ledger import Fact, Key
from tests.oracle.samples import Sample
from tests.oracle.setup import PLAIN, Setup

FLAGS = 3  # estimated and inferred


def reading_of(samples: Sequence[Sample], setup: Setup = PLAIN) -> Reading:
    """Samples as a door would yield them."""
    if setup.jobs:
        samples = [s for s in samples if s.labels.get("job", "") in setup.jobs]
    series: dict[RawSeries, int] = {}
    ids = [
        series.setdefault(RawSeries(s.name, tuple(s.labels.items())), len(series))
        for s in samples
    ]
    batch = SampleBatch(
        list(series),
        np.array(ids, np.int32),
        np.array([s.at for s in samples], np.int64),
        np.array([s.value for s in samples], np.float64),
    )
    interval_ms = None if setup.interval is None else setup.interval * 1000
    reading = build_reading(batch, scales=setup.scales, interval_ms=interval_ms)
    return reading if setup.jobs else _counting(reading)


def _counting(reading: Reading) -> Reading:
    """The samples of kube-state that count, where no source lists its jobs (N40)."""
    jobs = {side.job: found for side, found in records([reading], EVER, _never).items()}
    shown = {
        side.job: found for side, found in objects([reading], EVER, _never).items()
    }
    overlaps: dict[tuple[str, str], int] = {}
    for (one, own), (other, theirs) in permutations(shown.items(), 2):
        first: dict[str, int] = {}
        for thing, at in theirs.items():
            first[thing.name] = min(at, first.get(thing.name, at))
        common = [
            max(at, first[thing.name])
            for thing, at in own.items()
            if not thing.is_reference and thing.name in first
        ]
        if common:
            overlaps[one, other] = min(common)
    return counting([reading], roles_of(jobs, overlaps))[0]


def _never(_reading: Reading) -> bool:
    return False


def computed(
    samples: Sequence[Sample], setup: Setup = PLAIN
) -> tuple[dict[Key, Fact], list[HoldRow]]:
    """Facts and holds of samples that are all read at once."""
    reading = reading_of(samples, setup)
    inventory = Inventory(
        retired_ms=setup.retired, is_retired=setup.retired is not None
    )
    times = [s.at for s in samples]
    period = Interval(min(times), max(times) + 1)
    observe(inventory, [reading], period)
    until = data_end_ms(inventory)
    whole = Interval(window_of(period.start_ms).start_ms, max(until, period.end_ms))
    derived = derive(inventory, Interval(0, whole.end_ms + 3_600_000), until)
    windows = list(whole.windows())
    timelines = node_timelines(
        inventory, derived, Interval(windows[0].start_ms, windows[-1].end_ms), until
    )
    lines: dict[Key, list[LedgerLine]] = {}
    for book in attribute(windows, [reading], timelines):
        for line in book.lines:
            if line.total_ms:
                key = (book.window.start_ms, line.uuid, line.instance, line.pod_uid)
                lines.setdefault(key, []).append(line)
    holds = sorted(
        (
            h.uid,
            h.node,
            h.resource,
            h.units,
            str(h.share),
            h.created_ms,
            h.bound_ms,
            h.ended_ms,
            h.ended_by or None,
        )
        for h in derived.holds
    )
    return of_gpus({key: _fact(found) for key, found in lines.items()}), holds


def _fact(lines: Sequence[LedgerLine]) -> Fact:
    """Several lines when a GPU changed its node within a window."""
    flags = 0
    for line in lines:
        flags |= line.flags & FLAGS
    sums = [sum(getattr(line, f"{state}_ms") for line in lines) for state in STATES]
    return Fact(tuple(sums), flags)
