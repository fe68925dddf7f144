"""Ledger lines from held intervals and samples, for all GPUs at once (rules.md N20-N23)."""

from typing import NamedTuple

import numpy as np

from accounting.core.arrays import Integers, group_starts, ranges
from accounting.core.ledger_line import LINE, STATES
from accounting.metering.rules.attribution.vectorized_intervals import CellTable
from accounting.metering.rules.attribution.window_utilization import (
    UtilizationTable,
    measured,
)
from accounting.metering.rules.samples.scraper_series import BILLION
from accounting.metering.rules.units.geometry import NO_INSTANCE

_BUSY, _IDLE, _UNKNOWN, _FREE, _STRANDED, _STRAY, _DARK = range(len(STATES))


class _Shown(NamedTuple):
    """The measurements in each cell.

    Attributes:
        covered: milliseconds with a valid sample.
        active: milliseconds x billionths.
        used: activity up to the held share, in billionths of a ms over the cell's denominator.
        samples: of the metric that counts.
    """

    covered: Integers
    active: Integers
    used: Integers
    samples: Integers


_AMOUNT = np.dtype(
    [(name, "i8") for name in ("window", "gpu", "instance", "uid", "flags")]
    + [(name, "i8") for name in ("start", "length", "samples", "over", "part")]
    + [("states", "i8", (len(STATES),))]
)
_LINE_KEY = ("window", "gpu", "instance", "uid")


def lines_of(table: CellTable, utilization: UtilizationTable) -> "np.ndarray":
    """One line for each (window, GPU, instance, holder), in this order."""
    covered, active, samples = measured(table.cells, utilization)
    used = _used(table.cells, utilization, active)
    shown = _Shown(covered, active, used, samples)
    amounts = np.concatenate(
        [
            _held_amounts(table, shown),
            _free_amounts(table, shown),
            _stranded_amounts(table),
        ]
    )
    if not len(amounts):
        return np.zeros(0, LINE)
    order = ("start", *reversed(_LINE_KEY))
    amounts = amounts[np.lexsort([amounts[name] for name in order])]
    starts = group_starts(amounts, _LINE_KEY)
    head = amounts[starts]
    exact = np.add.reduceat(amounts["states"], starts, axis=0)
    states = _rounded(exact, head, table.unit)
    lines = np.zeros(len(head), LINE)
    for name in _LINE_KEY:
        lines[name] = head[name]
    for n, state in enumerate(STATES):
        lines[f"{state}_ms"] = states[:, n]
    lines["flags"] = np.bitwise_or.reduceat(amounts["flags"], starts)
    over = np.add.reduceat(amounts["over"], starts)
    lines["over_share_ms"] = over // (table.unit[head["gpu"]] * BILLION)
    lines["metric"], step = _metric_and_step(amounts, starts, utilization)
    lines["samples_expected"] = np.add.reduceat(amounts["length"], starts) // step
    lines["samples_used"] = np.add.reduceat(amounts["samples"], starts)
    is_shown = exact.any(axis=1) | (lines["over_share_ms"] > 0)
    return lines[is_shown]


def _used(
    cells: "np.ndarray", utilization: UtilizationTable, active: Integers
) -> Integers:
    """Activity up to the held share, in billionths of a ms over the cell's denominator.

    If all of a part is held, or none of it, this follows from the sum. If some of it is held,
    each sample is limited separately.
    """
    held = cells["held"]
    used: Integers = np.where(held > 0, active * cells["own"], 0)
    some = np.flatnonzero((held > 0) & (held < cells["own"]))
    used[some] = 0
    metric = utilization.metric[cells["part"][some], cells["window"][some]]
    for code, valid in enumerate(utilization.coverages, start=1):
        chosen = some[metric == code]
        cell = cells[chosen]
        low = np.searchsorted(
            valid.start_keys, valid.axis.of(cell["part"], cell["start"]), "right"
        )
        low = np.maximum(low - 1, valid.first[cell["part"]])
        high = np.searchsorted(
            valid.start_keys, valid.axis.of(cell["part"], cell["end"])
        )
        owner, piece = ranges(low, high - low)
        start = np.maximum(valid.start_ms[piece], cell["start"][owner])
        stop = valid.start_ms[piece] + valid.length_ms[piece]
        length = np.maximum(np.minimum(stop, cell["end"][owner]) - start, 0)
        limit = cell["held"][owner] * BILLION
        amount = valid.utilization[piece] * cell["own"][owner]
        total = np.zeros(len(chosen), np.int64)
        np.add.at(total, owner, length * np.minimum(amount, limit))
        used[chosen] = total
    return used


def _metric_and_step(
    amounts: "np.ndarray", starts: Integers, utilization: UtilizationTable
) -> tuple[Integers, Integers]:
    """Metric and step of each line: of the first of its parts that has a metric."""
    has_part = amounts["part"] >= 0
    metric = np.zeros(len(amounts), np.int64)
    step = np.full(len(amounts), utilization.default_ms)
    where = (amounts["part"][has_part], amounts["window"][has_part])
    metric[has_part], step[has_part] = (
        utilization.metric[where],
        utilization.step_ms[where],
    )
    last = len(amounts) - 1
    first = np.minimum.reduceat(
        np.where(metric > 0, np.arange(len(amounts)), last + 1), starts
    )
    has_any, at = first <= last, np.minimum(first, last)
    return (
        np.where(has_any, metric[at], 0),
        np.where(has_any, step[at], utilization.default_ms),
    )


def _held_amounts(table: CellTable, shown: _Shown) -> "np.ndarray":
    rows = table.holders
    at = rows["cell"]
    cell = table.cells[at]
    found = _amounts(cell)
    found["uid"] = rows["uid"]
    scale = table.unit[cell["gpu"]] // cell["common"]
    share = rows["share"] * scale
    busy = shown.used[at] * rows["share"] * (scale // cell["held"])
    covered, length = shown.covered[at], found["length"]
    found["states"][:, _BUSY] = busy
    found["states"][:, _IDLE] = share * covered * BILLION - busy
    found["states"][:, _UNKNOWN] = share * (length - covered) * BILLION
    found["flags"] = rows["flags"] | np.where(covered > 0, rows["divided"], 0)
    found["samples"] = shown.samples[at]
    return found


def _free_amounts(table: CellTable, shown: _Shown) -> "np.ndarray":
    some = table.cells["held"] < table.cells["own"]
    cell = table.cells[some]
    found = _amounts(cell)
    scale = table.unit[cell["gpu"]] // cell["common"]
    beyond = (shown.active[some] * cell["own"] - shown.used[some]) * scale
    room = (cell["own"] - cell["held"]) * scale * found["length"]
    stray = np.where(cell["is_seen"], beyond, 0)
    rest = room * BILLION - stray
    found["states"][:, _STRAY] = stray
    found["states"][:, _FREE] = np.where(cell["is_seen"], rest, 0)
    found["states"][:, _DARK] = np.where(cell["is_seen"], 0, rest)
    found["over"] = beyond - stray
    found["samples"] = shown.samples[some]
    return found


def _amounts(cell: "np.ndarray") -> "np.ndarray":
    found = np.zeros(len(cell), _AMOUNT)
    for name in ("window", "gpu", "instance", "part", "start"):
        found[name] = cell[name]
    found["length"] = cell["end"] - cell["start"]
    return found


def _stranded_amounts(table: CellTable) -> "np.ndarray":
    rows = table.stranded
    found = np.zeros(len(rows), _AMOUNT)
    found["window"], found["gpu"] = rows["window"], rows["gpu"]
    found["instance"], found["part"] = NO_INSTANCE, -1  # no sample is expected for it
    scale = table.unit[rows["gpu"]] // rows["common"]
    found["states"][:, _STRANDED] = rows["length"] * rows["share"] * scale * BILLION
    return found


def _rounded(exact: Integers, head: "np.ndarray", unit: Integers) -> Integers:
    """Whole milliseconds by largest remainder over the lines of each GPU (N23)."""
    one = unit[head["gpu"]] * BILLION
    states: Integers = exact // one[:, None]
    starts = group_starts(head, ("window", "gpu"))
    group = np.zeros(len(head), np.int64)
    group[starts[1:]] = 1
    group = np.cumsum(group)
    total = np.add.reduceat(exact.sum(axis=1), starts)
    missing = total // one[starts] - np.add.reduceat(states.sum(axis=1), starts)
    rest = exact - states * one[:, None]
    line, state = np.nonzero(rest)
    order = np.lexsort((-rest[line, state], group[line]))  # stable: keeps ties
    line, state = line[order], state[order]
    owner = group[line]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    more = rank < missing[owner]
    states[line[more], state[more]] += 1
    return states
