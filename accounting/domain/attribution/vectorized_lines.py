"""Lines of divided and shared GPUs from what is held and measured (rules.md N20-N23)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.domain.attribution.vectorized_work import CollectedNodes, PartInterval
from accounting.domain.attribution.whole import begins
from accounting.domain.attribution.window_utilization import UtilizationTable
from accounting.domain.core.ledger_line import LINE, STATES
from accounting.domain.samples.scraper_series import BILLION
from accounting.domain.samples.validity import Integers
from accounting.domain.units.geometry import NO_INSTANCE

_BUSY, _IDLE, _UNKNOWN, _FREE, _STRANDED, _STRAY, _DARK = range(len(STATES))


class Sums(NamedTuple):
    """Everything that is known of stays and their holders."""

    stays: "np.ndarray"
    rows: "np.ndarray"
    covered: Integers
    active: Integers
    used: Integers
    samples: Integers


_AMOUNT = np.dtype(
    [(name, "i8") for name in ("window", "card", "instance", "uid", "flags")]
    + [(name, "i8") for name in ("start", "length", "samples", "over", "part")]
    + [("states", "i8", (len(STATES),))]
)


def lines_of(
    sums: Sums,
    told: Sequence[PartInterval],
    work: CollectedNodes,
    utilization: UtilizationTable,
    unit: Integers,
) -> "np.ndarray":
    """One line for each (window, GPU, instance, holder)."""
    amounts = np.concatenate(
        [
            _held_amounts(sums, unit, work),
            _free_amounts(sums, unit, work),
            _stranded_amounts(told, unit, work),
        ]
    )
    if not len(amounts):
        return np.zeros(0, LINE)
    names = ("window", "card", "instance", "uid")
    order = ("start", *reversed(names))
    amounts = amounts[np.lexsort([amounts[name] for name in order])]
    starts = begins(amounts, names)
    head = amounts[starts]
    lines = np.zeros(len(head), LINE)
    exact = np.add.reduceat(amounts["states"], starts, axis=0)
    states = _rounded(exact, head, unit)
    for n, state in enumerate(STATES):
        lines[f"{state}_ms"] = states[:, n]
    lines["window"], lines["gpu"] = head["window"], head["card"]
    lines["uid"], lines["instance"] = head["uid"], head["instance"]
    lines["flags"] = np.bitwise_or.reduceat(amounts["flags"], starts)
    over = np.add.reduceat(amounts["over"], starts)
    lines["over_share_ms"] = over // (unit[head["card"]] * BILLION)
    metric, step = _spoken_by(amounts, starts, utilization)
    lines["metric"] = metric
    lines["samples_expected"] = np.add.reduceat(amounts["length"], starts) // step
    lines["samples_used"] = np.add.reduceat(amounts["samples"], starts)
    shown = exact.any(axis=1) | (lines["over_share_ms"] > 0)
    return lines[shown]


def _spoken_by(
    amounts: "np.ndarray", starts: Integers, utilization: UtilizationTable
) -> tuple[Integers, Integers]:
    """Metric and step of each line: of the first of its parts that has a metric."""
    if not len(utilization.metric):  # nothing was ever sampled of these GPUs
        none = np.zeros(len(starts), np.int64)
        return none, none + utilization.default_ms
    where = (np.maximum(amounts["part"], 0), amounts["window"])
    metric = np.where(amounts["part"] >= 0, utilization.metric[where], 0)
    last = len(amounts) - 1
    place = np.where(metric > 0, np.arange(len(amounts)), last + 1)
    first = np.minimum.reduceat(place, starts)
    has_any, at = first <= last, np.minimum(first, last)
    step = utilization.step_ms[where][at]
    return np.where(has_any, metric[at], 0), np.where(
        has_any, step, utilization.default_ms
    )


def _instances(work: CollectedNodes) -> Integers:
    return np.array([part.instance for _, part in work.parts], np.int64)


def _held_amounts(sums: Sums, unit: Integers, work: CollectedNodes) -> "np.ndarray":
    stays, rows = sums.stays, sums.rows
    at = rows["stay"]
    stay = stays[at]
    found = np.zeros(len(rows), _AMOUNT)
    _name(found, stay, work)
    found["uid"] = rows["uid"]
    covered, length = sums.covered[at], stay["end"] - stay["start"]
    scale = unit[stay["card"]] // (stay["common"] * stay["held"])
    busy = sums.used[at] * rows["share"] * scale
    share = rows["share"] * (unit[stay["card"]] // stay["common"])
    found["states"][:, _BUSY] = busy
    found["states"][:, _IDLE] = share * covered * BILLION - busy
    found["states"][:, _UNKNOWN] = share * (length - covered) * BILLION
    divided = (rows["flags"] >> 8) * (covered > 0)
    found["flags"] = (rows["flags"] & 0xFF) | divided
    found["samples"] = sums.samples[at]
    return found


def _free_amounts(sums: Sums, unit: Integers, work: CollectedNodes) -> "np.ndarray":
    some = sums.stays["held"] < sums.stays["own"]
    stay = sums.stays[some]
    found = np.zeros(len(stay), _AMOUNT)
    _name(found, stay, work)
    scale = unit[stay["card"]] // stay["common"]
    beyond = (sums.active[some] * stay["own"] - sums.used[some]) * scale
    room = (stay["own"] - stay["held"]) * scale * (stay["end"] - stay["start"])
    stray = np.where(stay["is_seen"], beyond, 0)
    rest = room * BILLION - stray
    found["states"][:, _STRAY] = stray
    found["states"][:, _FREE] = np.where(stay["is_seen"], rest, 0)
    found["states"][:, _DARK] = np.where(stay["is_seen"], 0, rest)
    found["over"] = beyond - stray
    found["samples"] = sums.samples[some]
    return found


def _name(found: "np.ndarray", stay: "np.ndarray", work: CollectedNodes) -> None:
    found["window"], found["card"] = stay["window"], stay["card"]
    found["instance"] = _instances(work)[stay["gpu"]]
    found["part"], found["start"] = stay["gpu"], stay["start"]
    found["length"] = stay["end"] - stay["start"]


def _stranded_amounts(
    told: Sequence[PartInterval], unit: Integers, work: CollectedNodes
) -> "np.ndarray":
    flat = [
        (
            item.window,
            work.card(item.timeline.node, uuid),
            item.period.length_ms,
            left.numerator,
            left.denominator,
        )
        for item in told
        for uuid, left in item.segment.stranded.items()
    ]
    table = np.array(flat, np.int64).reshape(-1, 5)
    found = np.zeros(len(table), _AMOUNT)
    found["window"], found["card"] = table[:, :2].T  # no sample is expected of it
    found["instance"], found["part"] = NO_INSTANCE, -1
    scale = unit[found["card"]] // table[:, 4]
    found["states"][:, _STRANDED] = table[:, 2] * table[:, 3] * scale * BILLION
    return found


def _rounded(exact: Integers, head: "np.ndarray", unit: Integers) -> Integers:
    """Whole milliseconds by largest remainder over the lines of each GPU (N23)."""
    one = unit[head["card"]] * BILLION
    states: Integers = exact // one[:, None]
    starts = begins(head, ("window", "card"))
    group = np.zeros(len(head), np.int64)
    group[starts[1:]] = 1
    group = np.cumsum(group)
    total = np.add.reduceat(exact.sum(axis=1), starts)
    missing = total // one[starts] - np.add.reduceat(states.sum(axis=1), starts)
    rest = exact - states * one[:, None]
    line, state = np.nonzero(rest)
    order = np.lexsort((-rest[line, state], group[line]))  # stable: ties stay in order
    line, state = line[order], state[order]
    owner = group[line]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    more: NDArray[np.bool_] = rank < missing[owner]
    states[line[more], state[more]] += 1
    return states
