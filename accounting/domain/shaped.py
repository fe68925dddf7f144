"""Attribution of divided and shared GPUs, all at once (rules.md N18-N23).

As `whole`, for what is not whole: instances, replicas, pools with a choice, fractions. Shares
are brought to one denominator for each GPU, so that all amounts are integers and the result
is that of `attribution`, to the last millisecond (a test compares them). Per-pod values,
several tracks of one metric and GPUs that moved go the long way.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounting.domain.duty import GpuDuty
from accounting.domain.geometry import NO_INSTANCE, Part
from accounting.domain.issue import Issue
from accounting.domain.line import LINE, STATES, LineTable
from accounting.domain.period import Period
from accounting.domain.plain import Holding
from accounting.domain.speech import Integers
from accounting.domain.timeline import NodeTimeline, Segment
from accounting.domain.track import BILLION
from accounting.domain.whole import Gpu, WindowsDuty, begins, is_plain, measured

ESTIMATED = 1
LARGEST = 20_000  # of the denominators: 300,000 ms x 10**9 x it is below 2**63
_BUSY, _IDLE, _UNKNOWN, _FREE, _STRANDED, _STRAY, _DARK = range(len(STATES))

Order = dict[Part, tuple[bool, int, Part]]
Held = Mapping[Part, Sequence[Holding]]
HoldersOf = Callable[[Segment, Order, NodeTimeline], tuple[Held, list[Issue]]]


class Told(NamedTuple):
    """Who has which part of each GPU of a node in a stretch of a window."""

    timeline: NodeTimeline
    segment: Segment
    window: int
    period: Period
    holders: Held


@dataclass(frozen=True, slots=True)
class Shaped:
    """What the short way gives.

    Attributes:
        tables: the lines of each window.
        nodes: whose lines these are.
        told: who had what, for the second column.
        issues: by window.
    """

    tables: tuple[LineTable, ...]
    nodes: frozenset[str]
    told: tuple[Told, ...]
    issues: tuple[tuple[Issue, ...], ...]


_STAY = np.dtype(
    [(name, "i8") for name in ("window", "gpu", "start", "end")]  # gpu: number of part
    + [(name, "i8") for name in ("card", "told", "common", "own", "held")]
    + [("is_seen", "?")]
)
_ROW = np.dtype([(name, "i8") for name in ("stay", "uid", "share", "flags")])


@dataclass(slots=True)
class _Work:
    """What is collected of all nodes before anything is computed."""

    parts: list[tuple[NodeTimeline, Part]] = field(default_factory=list)
    number: dict[tuple[str, Part], int] = field(default_factory=dict)
    cards: dict[tuple[str, str], int] = field(default_factory=dict)

    def card(self, node: str, uuid: str) -> int:
        """The number of a GPU."""
        return self.cards.setdefault((node, uuid), len(self.cards))


def shaped_nodes(
    timelines: Sequence[NodeTimeline], duties: Mapping[Part, GpuDuty], period: Period
) -> list[NodeTimeline]:
    """The nodes that can go this way."""
    nodes_of = Counter(uuid for timeline in timelines for uuid in timeline.presences)
    nothing = GpuDuty()
    return [
        timeline
        for timeline in timelines
        if all(nodes_of[uuid] == 1 for uuid in timeline.presences)
        and all(
            is_plain(duty) and not duty.by_pod
            for part in _parts_within(timeline, period)
            for duty in (duties.get(part, nothing),)
        )
    ]


def _parts_within(timeline: NodeTimeline, period: Period) -> list[Part]:
    found = {part for segment in timeline.within(period) for part in segment.parts}
    return sorted(found)


def attribute_shaped(
    windows: Sequence[Period],
    timelines: Sequence[NodeTimeline],
    duties: Mapping[Part, GpuDuty],
    holders_of: HoldersOf,
) -> Shaped:
    """The lines of nodes with any shape of GPU.

    Args:
        windows: in order.
        timelines: of nodes that `shaped_nodes` gave.
        duties: by part.
        holders_of: who has which part in a segment, given the order to fill pools in.
    """
    period = Period(windows[0].start_ms, windows[-1].end_ms)
    work = _Work()
    for timeline in timelines:
        for part in _parts_within(timeline, period):
            work.number[timeline.node, part] = len(work.parts)
            work.parts.append((timeline, part))
    gpus = [
        Gpu(
            timeline.node,
            part.uuid,
            duties.get(part) or GpuDuty(),
            timeline.changes.get(part, ()),
        )
        for timeline, part in work.parts
    ]
    duty = WindowsDuty.of(windows, gpus)
    stays, told = _stays(windows, timelines, work)
    covered, active, samples = measured(stays, duty)
    doubted = {gpus[n].node for n in duty.doubtful(windows, gpus)}
    activity = np.zeros((len(gpus), len(windows)), np.int64)
    np.add.at(activity, (stays["gpu"], stays["window"]), active)
    found, issues = _told(told, work, activity, holders_of, len(windows))
    rows, uids = _rows(stays, found)
    unit = _denominators(stays, found, work)
    names = tuple(work.cards)
    doubted |= {names[n][0] for n in np.flatnonzero(unit > LARGEST).tolist()}
    used = _used(stays, duty, active)
    sums = _Sums(stays, rows, covered, active, used, samples)
    lines = _lines(sums, found, work, duty, unit)
    keep = np.array([node not in doubted for node, _ in names] or [True], bool)
    lines = lines[keep[lines["gpu"]]] if len(lines) else lines
    cuts = np.searchsorted(lines["window"], np.arange(len(windows) + 1))
    tables = tuple(
        LineTable(names, tuple(uids), lines[cuts[n] : cuts[n + 1]])
        for n in range(len(windows))
    )
    return Shaped(
        tables,
        frozenset(t.node for t in timelines) - doubted,
        tuple(item for item in found if item.timeline.node not in doubted),
        tuple(
            tuple(issue for node, issue in some if node not in doubted)
            for some in issues
        ),
    )


def _stays(
    windows: Sequence[Period], timelines: Sequence[NodeTimeline], work: _Work
) -> tuple["np.ndarray", list[Told]]:
    """Each part in each stretch of time: in the order of `told`, then of its parts."""
    told: list[Told] = []
    flat: list[tuple[int, int, int, int, int, int, int, int, int, bool]] = []
    for timeline in timelines:
        for w, window in enumerate(windows):
            for segment in timeline.within(window):
                period = segment.period.intersection(window)
                if period is None:
                    continue
                n = len(told)
                told.append(Told(timeline, segment, w, period, {}))
                for part in segment.parts:
                    number = work.number[timeline.node, part]
                    card = work.card(timeline.node, part.uuid)
                    at = (period.start_ms, period.end_ms)
                    flat.append((w, number, *at, card, n, 1, 0, 0, segment.is_seen))
                for uuid in segment.stranded:
                    work.card(timeline.node, uuid)
    return np.array(flat, _STAY), told


def _told(
    told: Sequence[Told],
    work: _Work,
    activity: Integers,
    holders_of: HoldersOf,
    windows: int,
) -> tuple[list[Told], list[list[tuple[str, Issue]]]]:
    """Who holds what, once the activity of every part and window is known."""
    issues: list[list[tuple[str, Issue]]] = [[] for _ in range(windows)]
    found: list[Told] = []
    for item in told:
        timeline, segment = item.timeline, item.segment
        order: Order = {}
        if segment.pools:
            for part in segment.parts:
                amount = int(activity[work.number[timeline.node, part], item.window])
                order[part] = (part.uuid in timeline.placeholders, -amount, part)
        holders, faults = holders_of(segment, order, timeline)
        issues[item.window].extend((timeline.node, fault) for fault in faults)
        found.append(item._replace(holders=holders))
    return found, issues


def _rows(stays: "np.ndarray", told: Sequence[Told]) -> tuple["np.ndarray", list[str]]:
    """Holders of each stay, with shares over its part's denominator; fills in `stays`."""
    uid_of: dict[str, int] = {"": 0}
    flat: list[tuple[int, int, int, int]] = []
    known: dict[tuple[Fraction, ...], tuple[int, int, int, tuple[int, ...]]] = {}
    scaled: list[tuple[int, int, int]] = []
    n = 0
    for item in told:
        for part, own in item.segment.parts.items():
            those = item.holders[part]
            shares = (own, *(holder.share for holder in those))
            if shares not in known:
                known[shares] = _integers(shares)
            common, over, held, parts = known[shares]
            scaled.append((common, over, held))
            for holder, share in zip(those, parts, strict=True):
                uid = uid_of.setdefault(holder.uid, len(uid_of))
                flags = holder.flags | (ESTIMATED << 8 if len(those) > 1 else 0)
                flat.append((n, uid, share, flags))
            n += 1
    numbers = np.array(scaled, np.int64).reshape(-1, 3)
    stays["common"], stays["own"], stays["held"] = numbers.T
    order = sorted(uid_of)
    renamed = np.zeros(len(uid_of), np.int64)
    for place, name in enumerate(order):
        renamed[uid_of[name]] = place
    rows = np.array(flat, _ROW)
    rows["uid"] = renamed[rows["uid"]]
    return rows, order


def _integers(
    shares: Sequence[Fraction],
) -> tuple[int, int, int, tuple[int, ...]]:
    """A denominator for a part; its own share, what is held and each share over it."""
    common = lcm(*(share.denominator for share in shares))
    own, *parts = (share.numerator * (common // share.denominator) for share in shares)
    return common, own, sum(parts), tuple(parts)


def _used(stays: "np.ndarray", duty: WindowsDuty, active: Integers) -> Integers:
    """Activity up to what is held, in billionths of a ms over the part's denominator."""
    used: Integers = active * stays["own"]
    used[stays["held"] == 0] = 0
    some = np.flatnonzero((stays["held"] > 0) & (stays["held"] < stays["own"]))
    if not len(some):
        return used
    metric = duty.metric[stays["gpu"][some], stays["window"][some]]
    used[some] = 0
    for code, said in enumerate(duty.speeches, start=1):
        chosen = some[metric == code]
        if not len(chosen) or not len(said.keys):
            continue
        part = stays[chosen]
        first = said.first[part["gpu"]]
        low = np.searchsorted(
            said.piece_keys, said.axis.of(part["gpu"], part["start"]), "right"
        )
        low = np.maximum(low - 1, first)
        high = np.searchsorted(said.piece_keys, said.axis.of(part["gpu"], part["end"]))
        count = np.maximum(high - low, 0)
        owner = np.repeat(np.arange(len(chosen)), count)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        piece = low[owner] + within
        start = np.maximum(said.start_ms[piece], part["start"][owner])
        stop = said.start_ms[piece] + said.length_ms[piece]
        length = np.maximum(np.minimum(stop, part["end"][owner]) - start, 0)
        limit = part["held"][owner] * BILLION
        amount = length * np.minimum(said.duty[piece] * part["own"][owner], limit)
        total = np.zeros(len(chosen), np.int64)
        np.add.at(total, owner, amount)
        used[chosen] = total
    return used


class _Sums(NamedTuple):
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


def _lines(
    sums: _Sums,
    told: Sequence[Told],
    work: _Work,
    duty: WindowsDuty,
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
    metric, step = _spoken_by(amounts, starts, duty)
    lines["metric"] = metric
    lines["samples_expected"] = np.add.reduceat(amounts["length"], starts) // step
    lines["samples_used"] = np.add.reduceat(amounts["samples"], starts)
    shown = exact.any(axis=1) | (lines["over_share_ms"] > 0)
    return lines[shown]


def _spoken_by(
    amounts: "np.ndarray", starts: Integers, duty: WindowsDuty
) -> tuple[Integers, Integers]:
    """Metric and step of each line: of the first of its parts that has a metric."""
    if not len(duty.metric):  # nothing was ever sampled of these GPUs
        none = np.zeros(len(starts), np.int64)
        return none, none + duty.default_ms
    where = (np.maximum(amounts["part"], 0), amounts["window"])
    metric = np.where(amounts["part"] >= 0, duty.metric[where], 0)
    last = len(amounts) - 1
    place = np.where(metric > 0, np.arange(len(amounts)), last + 1)
    first = np.minimum.reduceat(place, starts)
    has_any, at = first <= last, np.minimum(first, last)
    step = duty.step_ms[where][at]
    return np.where(has_any, metric[at], 0), np.where(has_any, step, duty.default_ms)


def _denominators(stays: "np.ndarray", told: Sequence[Told], work: _Work) -> Integers:
    """A denominator for each GPU over which all its amounts are whole."""
    of_card: dict[int, set[int]] = defaultdict(set)
    each = stays["common"] * np.maximum(stays["held"], 1)
    pairs = np.unique(np.stack((stays["card"], each), axis=1), axis=0)
    for card, number in pairs.tolist():
        of_card[card].add(number)
    for item in told:
        for uuid, left in item.segment.stranded.items():
            of_card[work.card(item.timeline.node, uuid)].add(left.denominator)
    return np.array(
        [min(lcm(*of_card.get(n, {1})), LARGEST + 1) for n in range(len(work.cards))],
        np.int64,
    )


def _instances(work: _Work) -> Integers:
    return np.array([part.instance for _, part in work.parts], np.int64)


def _held_amounts(sums: _Sums, unit: Integers, work: _Work) -> "np.ndarray":
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


def _free_amounts(sums: _Sums, unit: Integers, work: _Work) -> "np.ndarray":
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


def _name(found: "np.ndarray", stay: "np.ndarray", work: _Work) -> None:
    found["window"], found["card"] = stay["window"], stay["card"]
    found["instance"] = _instances(work)[stay["gpu"]]
    found["part"], found["start"] = stay["gpu"], stay["start"]
    found["length"] = stay["end"] - stay["start"]


def _stranded_amounts(
    told: Sequence[Told], unit: Integers, work: _Work
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
    found["window"], found["card"], found["length"] = table[:, :3].T
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
