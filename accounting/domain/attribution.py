"""Samples and holds into the milliseconds of the seven states (rules.md N18-N23).

The one formula of the product. For every GPU and window the lines sum to the time it was
there: everything is exact (integers and fractions of a billionth of a millisecond) and is
rounded once, by largest remainder.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from accounting.domain.duty import GpuDuty, WindowDuty, gpu_duties, window_duty
from accounting.domain.geometry import NO_INSTANCE, Part
from accounting.domain.intensity import NOTHING, IntensityTable, Stretch, intensities
from accounting.domain.intensity import Part as HeldPart
from accounting.domain.issue import Issue
from accounting.domain.label import Ownership
from accounting.domain.line import NO_LINES, STATES, Line, LineTable, joined
from accounting.domain.period import Period
from accounting.domain.plain import Holding, plain_nodes
from accounting.domain.rounding import Exact, largest_remainder
from accounting.domain.series import Reading
from accounting.domain.shaped import Shaped, attribute_shaped, shaped_nodes
from accounting.domain.timeline import NodeTimeline, Segment
from accounting.domain.track import BILLION, DEFAULT_STEP_MS
from accounting.domain.whole import attribute_whole

ESTIMATED, INFERRED, SUSPECT = 1, 2, 4  # models.FactFlag
PLATFORM = ""  # the pod uid of the line that nobody held


@dataclass(frozen=True, slots=True)
class WindowLedger:
    """The facts of one window."""

    window: Period
    singles: tuple[Line, ...]
    table: LineTable
    issues: tuple[Issue, ...]
    samples_expected: int
    samples_seen: int
    intensity: IntensityTable = NOTHING

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every line, one by one: for few only."""
        return (*self.singles, *self.table.lines())


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has which part of a GPU in a segment; `flags` say how that is known."""

    uid: str
    share: Fraction
    flags: int = 0


Holders = tuple[Holder, ...]
_Head = tuple[int, str]  # instance, pod uid
_Cell = tuple[int, str, str]  # instance, pod uid, state


@dataclass(slots=True)
class _LineSum:
    """What a line says beside its milliseconds."""

    flags: int = 0
    samples: int = 0
    length_ms: int = 0
    over_share: Exact = 0  # billionths of a millisecond
    metric: int = 0
    step_ms: int = 0


@dataclass(slots=True)
class _GpuSum:
    """What adds up for one GPU on one node in one window, in billionths of a millisecond."""

    uuid: str
    node: str
    amounts: dict[_Cell, Exact] = field(default_factory=lambda: defaultdict(int))
    heads: dict[_Head, _LineSum] = field(default_factory=lambda: defaultdict(_LineSum))
    suspects: list[Part] = field(default_factory=list)
    present_ms: int = 0


def attribute(
    windows: Sequence[Period],
    readings: Sequence[Reading],
    timelines: dict[str, NodeTimeline],
    *,
    one_by_one: bool = False,
) -> list[WindowLedger]:
    """The ledger of adjoining windows.

    Args:
        windows: adjoining and in order.
        readings: with samples from 30 min before the first to 10 min after the last window.
        timelines: of every node with a GPU in those windows.
        one_by_one: go the long way for every node; the result is the same.

    Returns:
        One WindowLedger for each window.
    """
    if not windows:
        return []
    whole = Period(windows[0].start_ms, windows[-1].end_ms)
    whose = next((t.whose for t in timelines.values()), Ownership())
    duties, issues = gpu_duties(readings, whole, whose)
    ordered = [timeline for _, timeline in sorted(timelines.items())]
    stretches: list[Stretch] = []
    few = [] if one_by_one else ordered
    tables, done = _whole(windows, few, duties, stretches)
    rest = [timeline for timeline in few if timeline.node not in done]
    shaped = _shaped(windows, rest, duties, stretches)
    done |= shaped.nodes
    ledgers: list[WindowLedger] = []
    for n, window in enumerate(windows):
        table = joined([tables[n], shaped.tables[n]])
        issues.extend(shaped.issues[n])
        sums: dict[str, list[_GpuSum]] = defaultdict(list)
        for timeline in ordered:
            if timeline.node in done:
                continue
            parts, faults = _node_window(timeline, duties, window, stretches)
            issues.extend(faults)
            for part in parts:
                sums[part.uuid].append(part)
        ledgers.append(_ledger(window, sums, table, issues))
        issues = []
    return _with_intensity(ledgers, readings, stretches, ordered)


def _with_intensity(
    ledgers: Sequence[WindowLedger],
    readings: Sequence[Reading],
    stretches: Sequence[Stretch],
    timelines: Sequence[NodeTimeline],
) -> list[WindowLedger]:
    """The same ledgers with the second column of their lines."""
    changes = {
        (timeline.node, part.uuid, part.instance): at
        for timeline in timelines
        for part, at in timeline.changes.items()
    }
    tables, issues = intensities(
        [ledger.window for ledger in ledgers], readings, stretches, changes
    )
    first = replace(ledgers[0], issues=(*ledgers[0].issues, *issues))
    return [
        replace(ledger, intensity=table)
        for ledger, table in zip([first, *ledgers[1:]], tables, strict=True)
    ]


def _whole(
    windows: Sequence[Period],
    timelines: Sequence[NodeTimeline],
    duties: dict[Part, GpuDuty],
    stretches: list[Stretch],
) -> tuple[list[LineTable], set[str]]:
    """The lines of nodes where nothing is shared, by window, and which nodes these are."""
    period = Period(windows[0].start_ms, windows[-1].end_ms)
    gpus, cells = plain_nodes(timelines, duties, period, _undisputed)
    if not gpus:
        return [NO_LINES for _ in windows], set()
    whole = attribute_whole(windows, gpus, cells)
    doubted = {gpus[n].node for n in whole.doubtful}
    void = frozenset(n for n, gpu in enumerate(gpus) if gpu.node in doubted)
    tables = [table.without(void) if void else table for table in whole.tables]
    stretches.extend(
        Stretch(
            gpus[cell.gpu].node,
            gpus[cell.gpu].uuid,
            cell.start_ms,
            cell.end_ms,
            (HeldPart(cell.uid, NO_INSTANCE, 1, 1),) if cell.uid else (),
        )
        for cell in cells
        if cell.gpu not in void
    )
    return tables, {gpu.node for gpu in gpus} - doubted


def _shaped(
    windows: Sequence[Period],
    timelines: Sequence[NodeTimeline],
    duties: dict[Part, GpuDuty],
    stretches: list[Stretch],
) -> Shaped:
    """The lines of nodes with divided or shared GPUs that need no second look."""
    period = Period(windows[0].start_ms, windows[-1].end_ms)
    those = shaped_nodes(timelines, duties, period)
    if not those:
        nothing = tuple(NO_LINES for _ in windows)
        return Shaped(nothing, frozenset(), (), tuple(() for _ in windows))
    found = attribute_shaped(windows, those, duties, _holders)
    for told in found.told:
        node, holders = told.timeline.node, told.holders
        stretches.extend(_stretches(node, told.period, told.segment, holders))
    return found


def _undisputed(segment: Segment, timeline: NodeTimeline) -> dict[Part, Holders]:
    """Holders of a segment in which the order of GPUs does not matter."""
    order = {part: (False, 0, part) for part in segment.parts}
    return _holders(segment, order, timeline)[0]


def _ledger(
    window: Period,
    sums: dict[str, list[_GpuSum]],
    table: LineTable,
    issues: list[Issue],
) -> WindowLedger:
    lines = [line for parts in sums.values() for line in _round(parts)]
    expected, used = (
        sum(getattr(line, name) for line in lines) + int(table.rows[name].sum())
        for name in ("samples_expected", "samples_used")
    )
    ordered = sorted(
        issues, key=lambda issue: (issue.code, issue.subject, issue.first_ms)
    )
    return WindowLedger(window, tuple(lines), table, tuple(ordered), expected, used)


def _node_window(
    timeline: NodeTimeline,
    duties: dict[Part, GpuDuty],
    window: Period,
    stretches: list[Stretch],
) -> tuple[list[_GpuSum], list[Issue]]:
    segments = [
        (inside, segment)
        for segment in timeline.within(window)
        if (inside := segment.period.intersection(window)) is not None
    ]
    there = {part for _, segment in segments for part in segment.parts}
    known = {
        part: window_duty(duties[part], window, timeline.changes.get(part, ()))
        for part in there
        if part in duties
    }
    busiest = _by_activity(timeline, known, segments)
    sums: dict[str, _GpuSum] = {}
    issues: list[Issue] = []
    for period, segment in segments:
        holders, faults = _holders(segment, busiest, timeline)
        issues.extend(faults)
        for part, those in holders.items():
            total = sums.setdefault(part.uuid, _GpuSum(part.uuid, timeline.node))
            share = _Share(part, segment.parts[part], those)
            _add(total, share, period, known.get(part, _NO_DUTY), segment, timeline)
        for uuid, left in segment.stranded.items():
            total = sums.setdefault(uuid, _GpuSum(uuid, timeline.node))
            amount = _plain(left * period.length_ms * BILLION)
            total.amounts[NO_INSTANCE, PLATFORM, "stranded"] += amount
            total.heads[NO_INSTANCE, PLATFORM].length_ms += period.length_ms
        for stretch in _stretches(timeline.node, period, segment, holders):
            sums[stretch.uuid].present_ms += period.length_ms
            stretches.append(stretch)
    for total in sums.values():
        issues.extend(_suspect(window, total, part) for part in total.suspects)
    return [sums[uuid] for uuid in sorted(sums)], issues


def _stretches(
    node: str,
    period: Period,
    segment: Segment,
    holders: Mapping[Part, Sequence[Holding]],
) -> list[Stretch]:
    """Who has which part of each GPU of a node in a segment."""
    found: dict[str, list[HeldPart]] = {uuid: [] for uuid in segment.stranded}
    for part, those in holders.items():
        found.setdefault(part.uuid, []).extend(
            HeldPart(
                holder.uid,
                part.instance,
                holder.share.numerator,
                holder.share.denominator,
            )
            for holder in those
        )
    return [
        Stretch(node, uuid, period.start_ms, period.end_ms, tuple(parts))
        for uuid, parts in found.items()
    ]


_NO_DUTY = WindowDuty()
Order = dict[Part, tuple[bool, int, Part]]


def _by_activity(
    timeline: NodeTimeline,
    known: dict[Part, WindowDuty],
    segments: Sequence[tuple[Period, Segment]],
) -> Order:
    """The order in which a pool's GPUs and instances are filled (N18).

    Busy time in the window before any attribution, most first, then UUID and instance;
    placeholders last. Parts of one pool have one share, which need not be weighed.
    """
    active: dict[Part, int] = defaultdict(int)
    for period, segment in segments:
        for part in segment.parts:
            for piece in known.get(part, _NO_DUTY).pieces:
                start = max(piece.start_ms, period.start_ms)
                end = min(piece.end_ms, period.end_ms)
                active[part] += max(0, end - start) * piece.duty
    return {
        part: (part.uuid in timeline.placeholders, -amount, part)
        for part, amount in (
            (part, active[part]) for _, segment in segments for part in segment.parts
        )
    }


def _holders(
    segment: Segment, order: Order, timeline: NodeTimeline
) -> tuple[dict[Part, Holders], list[Issue]]:
    """Who has which part of every GPU and instance of a node in a segment."""
    issues: list[Issue] = []
    found: dict[Part, Holders] = dict.fromkeys(segment.parts, ())
    for part, items in segment.mapped.items():
        own = segment.parts[part]
        total = sum((share for _, share in items), Fraction(0))
        scale = max(Fraction(1), total / own)
        flag = 0
        if total > own:
            whole = all(share == own for _, share in items)
            code = "two_on_exclusive" if whole else "too_many_holders"
            issues.append(_too_much(code, _name(part), segment.period, "a GPU"))
            flag = ESTIMATED
        found[part] = tuple(
            Holder(uid, share / scale, flag | _inferred(uid, segment, timeline))
            for uid, share in items
        )
    if segment.pools:
        rooms = segment.rooms()
        for kind in sorted(segment.pools):
            issues.extend(_fill(kind, segment, rooms, order, timeline, found))
    return found, issues


def _fill(  # all that decides about a pool
    kind: str,
    segment: Segment,
    rooms: dict[Part, Fraction],
    order: Order,
    timeline: NodeTimeline,
    found: dict[Part, Holders],
) -> list[Issue]:
    """Give a pool's holds the room of its GPUs, placeholders last (N18, N20)."""
    pool = segment.pools[kind]
    issues: list[Issue] = []
    those = sorted(
        (
            part
            for part in rooms
            if part.kind == kind or part.uuid in timeline.placeholders
        ),
        key=order.__getitem__,
    )
    left = wanted = sum((item.weight for item in pool), Fraction(0))
    flag = INFERRED | (ESTIMATED if len(pool) > 1 else 0)
    # With no GPU on the node at all there is nothing that could be scaled.
    room = sum((rooms[part] for part in those), Fraction(0))
    if wanted > room and segment.parts:
        code = "more_held_than_there"
        issues.append(_too_much(code, timeline.node, segment.period, "a node's GPUs"))
        flag |= ESTIMATED
    for part in those:
        take = min(rooms[part], left)
        if not take:
            continue  # another kind of unit has filled this placeholder
        left -= take
        rooms[part] -= take
        found[part] = _joined(
            found[part],
            [Holder(item.uid, take * item.weight / wanted, flag) for item in pool],
        )
    return issues


def _joined(known: Holders, more: Sequence[Holder]) -> Holders:
    """Holders of a part, each pod once."""
    if not known:
        return tuple(more)
    by_uid = {holder.uid: holder for holder in known}
    for holder in more:
        before = by_uid.get(holder.uid)
        if before is not None:
            share, flags = before.share + holder.share, before.flags | holder.flags
            holder = Holder(holder.uid, share, flags)  # noqa: PLW2901
        by_uid[holder.uid] = holder
    return tuple(by_uid.values())


def _inferred(uid: str, segment: Segment, timeline: NodeTimeline) -> int:
    """The flag of time that only a label speaks for (N13, N19)."""
    at = segment.period.start_ms
    spans = timeline.inferred.get(uid, ())
    return INFERRED if any(span.contains(at) for span in spans) else 0


class _Share(NamedTuple):
    """A part, what it is of its GPU, and who holds it."""

    part: Part
    own: Fraction
    holders: Holders


def _add(  # all that decides about a stretch of time
    total: _GpuSum,
    share: _Share,
    period: Period,
    duty: WindowDuty,
    segment: Segment,
    timeline: NodeTimeline,
) -> None:
    """Add one part's time in one segment to the sum of its GPU."""
    part, own, holders = share
    length = period.length_ms
    held = sum((holder.share for holder in holders), Fraction(0))
    measured = _measure(share, period, duty, timeline)
    believed = 0 if duty.is_suspect else measured.covered
    divided = len(holders) > 1 and believed and measured.is_estimated
    if duty.is_suspect and part not in total.suspects:
        total.suspects.append(part)
    for n, holder in enumerate(holders):
        busy: Exact = _plain(measured.busy[n]) if believed else 0
        sampled = _plain(holder.share * believed * BILLION)
        unknown = _plain(holder.share * (length - believed)) * BILLION
        _put(total, part, holder.uid, "busy", busy)
        _put(total, part, holder.uid, "idle", sampled - busy)
        _put(total, part, holder.uid, "unknown", unknown)
        suspect = SUSPECT if duty.is_suspect and measured.covered else 0
        flags = holder.flags | suspect | (ESTIMATED if divided else 0)
        _head(total, part, holder.uid, length, duty).flags |= flags
    unheld = _plain(own - held)
    excess = _plain(measured.excess)
    if unheld:
        limit = unheld * length * BILLION
        stray = _plain(measured.stray) if segment.is_seen else 0
        _put(total, part, PLATFORM, "stray", stray)
        state = "free" if segment.is_seen else "dark"
        _put(total, part, PLATFORM, state, _plain(limit - stray))
        _head(total, part, PLATFORM, length, duty)
        excess = _plain(excess - stray)
    if excess:
        _head(total, part, PLATFORM, 0, duty).over_share += excess
    inside = sum(period.contains(at) for at in duty.sample_times)
    for uid in [holder.uid for holder in holders] + ([PLATFORM] if unheld else []):
        total.heads[part.instance, uid].samples += inside


def _head(
    total: _GpuSum, part: Part, uid: str, length_ms: int, duty: WindowDuty
) -> _LineSum:
    """The line of a holder (or of nobody) of a part."""
    head = total.heads[part.instance, uid]
    head.length_ms += length_ms
    head.metric = head.metric or duty.metric
    head.step_ms = head.step_ms or duty.step_ms
    return head


@dataclass(slots=True)
class _Measured:
    """What samples say of a part's time, in billionths of a millisecond of its GPU.

    Attributes:
        covered: milliseconds.
        busy: of each holder.
        excess: activity beyond what holders may have, and how much of it is stray where
            kube-state is seen.
        is_estimated: some of it was divided without per-pod values.
    """

    covered: int
    busy: list[Exact]
    excess: Exact = 0
    stray: Exact = 0
    is_estimated: bool = False


def _measure(
    share: _Share, period: Period, duty: WindowDuty, timeline: NodeTimeline
) -> _Measured:
    """Activity of a part, divided over its holders (N22)."""
    own, holders = share.own, share.holders
    held = sum((holder.share for holder in holders), Fraction(0))
    names = [(h.uid, timeline.pods.get(h.uid, ("", ""))) for h in holders]
    found = _Measured(0, [0] * len(holders))
    even: Exact = 0  # of all holders, to be divided by their shares
    for piece in duty.pieces:
        length = min(piece.end_ms, period.end_ms) - max(piece.start_ms, period.start_ms)
        if length <= 0:
            continue
        found.covered += length
        active = _plain(piece.duty * own)
        values = duty.by_pod.get(piece.scraper) if holders else None
        weights = values.weights(piece.at_ms, names) if values else None
        if weights is None:
            used = min(active, _plain(held * BILLION)) if held < own else active
            even += length * used
            beyond = active - used
            found.is_estimated = True
        else:
            parts = [Fraction(active * weight, sum(weights)) for weight in weights]
            booked = [
                min(p, h.share * BILLION) for p, h in zip(parts, holders, strict=True)
            ]
            for n, amount in enumerate(booked):
                found.busy[n] += length * amount
            beyond = active - sum(booked)
        found.excess += length * beyond
        found.stray += length * min(beyond, (own - held) * BILLION)
    if even:
        for n, holder in enumerate(holders):
            found.busy[n] += even * holder.share / held
    return found


def _plain(value: Exact) -> Exact:
    """A whole number as int: faster, and equal."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _put(total: _GpuSum, part: Part, uid: str, state: str, amount: Exact) -> None:
    if amount:
        total.amounts[part.instance, uid, state] += amount


def _round(parts: Sequence[_GpuSum]) -> list[Line]:
    """Whole milliseconds of one GPU, rounded once over all its lines (N23).

    A GPU that changed its node has parts on several; each cell is then divided over them.
    """
    amounts: dict[_Cell, Exact] = defaultdict(int)
    for part in parts:
        for cell, amount in part.amounts.items():
            amounts[cell] += amount
    ordered = sorted(
        amounts.items(), key=lambda item: (*item[0][:2], STATES.index(item[0][2]))
    )
    present_ms = sum(part.present_ms for part in parts)
    whole = largest_remainder(ordered, BILLION, present_ms)
    if len(parts) == 1:
        return _lines(parts[0], whole)
    divided: list[dict[_Cell, int]] = [{} for _ in parts]
    for cell, ms in whole.items():
        of = [(i, part.amounts.get(cell, 0)) for i, part in enumerate(parts)]
        scaled = [(i, amount * ms / Fraction(amounts[cell])) for i, amount in of]
        for i, count in largest_remainder(scaled, 1, ms).items():
            if count:
                divided[i][cell] = count
    return [
        line
        for part, cells in zip(parts, divided, strict=True)
        for line in _lines(part, cells)
    ]


def _lines(total: _GpuSum, whole: dict[_Cell, int]) -> list[Line]:
    states: dict[_Head, dict[str, int]] = defaultdict(dict)
    for (instance, uid, state), ms in whole.items():
        states[instance, uid][f"{state}_ms"] = ms
    for head, found in total.heads.items():
        if found.over_share // BILLION and head not in states:
            states[head] = {}
    return [
        _line(total, head, total.heads[head], found) for head, found in states.items()
    ]


def _line(total: _GpuSum, head: _Head, found: _LineSum, states: dict[str, int]) -> Line:
    return Line(
        uuid=total.uuid,
        node=total.node,
        instance=head[0],
        pod_uid=head[1],
        **states,
        over_share_ms=int(found.over_share // BILLION),
        flags=found.flags,
        metric=found.metric,
        samples_expected=found.length_ms // (found.step_ms or DEFAULT_STEP_MS),
        samples_used=found.samples,
    )


def _name(part: Part) -> str:
    """A part as issues name it: its GPU, and the instance where it is one."""
    if part.instance == NO_INSTANCE:
        return part.uuid
    return f"{part.uuid}/{part.instance} ({part.kind})"


def _suspect(window: Period, total: _GpuSum, part: Part) -> Issue:
    unknown = sum(
        amount
        for (instance, _, state), amount in total.amounts.items()
        if state == "unknown" and instance == part.instance
    )
    return Issue(
        code="suspect_silence",
        subject=_name(part),
        message="Its metric shows only zeros while utilisation or power say it worked.",
        advice="Restart the exporter, or look for another profiler on this node.",
        first_ms=window.start_ms,
        last_ms=window.end_ms,
        at_stake_ms=int(unknown // BILLION),
    )


def _too_much(code: str, subject: str, period: Period, what: str) -> Issue:
    return Issue(
        code=code,
        subject=subject,
        message=f"Holds ask for more than {what} can give; they are scaled to it.",
        advice="Check the node's capacity, labels and pods of that time.",
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        at_stake_ms=period.length_ms,
    )
