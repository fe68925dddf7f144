"""The two paths of attribution, which must give the same ledgers: as arrays, and exact."""

from collections.abc import Sequence

from accounting.core.interval import Interval, window_of
from accounting.core.ledger_line import LedgerLine
from accounting.metering.rules.attribution.attribute import WindowLedger, attribute
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import data_end_ms, derive
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from tests.oracle.domain import reading_of
from tests.oracle.samples import Sample
from tests.oracle.setup import PLAIN, Setup


def both_ways(
    samples: Sequence[Sample], setup: Setup = PLAIN
) -> list[list[WindowLedger]]:
    """The ledgers of samples: as arrays where that is possible, and by the exact path only."""
    reading, inventory = reading_of(samples, setup), Inventory()
    times = [s.at for s in samples]
    period = Interval(min(times), max(times) + 1)
    observe(inventory, [reading], period)
    until = data_end_ms(inventory)
    whole = Interval(window_of(period.start_ms).start_ms, max(until, period.end_ms))
    windows = list(whole.windows())
    whole = Interval(windows[0].start_ms, windows[-1].end_ms)
    derived = derive(inventory, Interval(0, whole.end_ms + 3_600_000), until)
    timelines = node_timelines(inventory, derived, whole, until)
    return [
        attribute(windows, [reading], timelines, one_by_one=one_by_one)
        for one_by_one in (False, True)
    ]


def ordered(lines: Sequence[LedgerLine]) -> list[LedgerLine]:
    """By GPU, node, instance and pod."""
    return sorted(
        lines, key=lambda line: (line.uuid, line.node, line.instance, line.pod_uid)
    )


def same_ledgers(samples: Sequence[Sample], setup: Setup = PLAIN) -> list[WindowLedger]:
    """The ledgers as arrays; everything is the same as by the exact path."""
    arrays, exact = both_ways(samples, setup)
    for a, b in zip(arrays, exact, strict=True):
        assert len(b.table) == 0
        assert ordered(a.lines) == ordered(b.lines)
        assert a.issues == b.issues
        assert (a.samples_expected, a.samples_seen) == (
            b.samples_expected,
            b.samples_seen,
        )
        assert (a.intensity.gpus, a.intensity.uids) == (
            b.intensity.gpus,
            b.intensity.uids,
        )
        assert a.intensity.rows.tolist() == b.intensity.rows.tolist()
    return arrays
