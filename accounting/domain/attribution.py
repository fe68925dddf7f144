"""Samples and holds into the milliseconds of the seven states (rules.md N18-N23).

The one formula of the product. For every GPU and window the lines sum to the time it was
there: everything is exact (integers and fractions of a billionth of a millisecond) and is
rounded once, by largest remainder.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from accounting.domain.duty import GpuDuty, WindowDuty, gpu_duties, window_duty
from accounting.domain.intensity import (
    NOTHING,
    IntensityTable,
    Part,
    Stretch,
    intensities,
)
from accounting.domain.issue import Issue
from accounting.domain.line import NO_LINES, STATES, Line, LineTable
from accounting.domain.period import Period
from accounting.domain.plain import plain_nodes
from accounting.domain.rounding import Exact, largest_remainder
from accounting.domain.series import Reading
from accounting.domain.timeline import NodeTimeline, Segment
from accounting.domain.track import BILLION, DEFAULT_STEP_MS, Valid
from accounting.domain.whole import attribute_whole

ESTIMATED, INFERRED, SUSPECT = 1, 2, 4  # models.FactFlag
PLATFORM = ""  # the pod uid of the line that nobody held
WHOLE = -1  # the instance of a whole GPU


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


@dataclass(slots=True)
class _GpuSum:
    """What adds up for one GPU on one node in one window, in billionths of a millisecond."""

    uuid: str
    node: str
    duty: WindowDuty
    amounts: dict[tuple[str, str], Exact] = field(
        default_factory=lambda: defaultdict(int)
    )
    flags: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    samples: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    over_share: Exact = 0
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
    duties, issues = gpu_duties(readings, whole)
    ordered = [timeline for _, timeline in sorted(timelines.items())]
    stretches: list[Stretch] = []
    few = [] if one_by_one else ordered
    tables, done = _whole(windows, few, duties, stretches)
    ledgers: list[WindowLedger] = []
    for window, table in zip(windows, tables, strict=True):
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
        (timeline.node, uuid): at
        for timeline in timelines
        for uuid, at in timeline.changes.items()
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
    duties: dict[str, GpuDuty],
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
            (Part(cell.uid, WHOLE, 1, 1),) if cell.uid else (),
        )
        for cell in cells
        if cell.gpu not in void
    )
    return tables, {gpu.node for gpu in gpus} - doubted


def _undisputed(segment: Segment, timeline: NodeTimeline) -> dict[str, Holders]:
    """Holders of a segment in which the order of GPUs does not matter."""
    order = {uuid: (False, 0, uuid) for uuid in segment.unmapped}
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
    return WindowLedger(window, tuple(lines), table, tuple(issues), expected, used)


def _node_window(
    timeline: NodeTimeline,
    duties: dict[str, GpuDuty],
    window: Period,
    stretches: list[Stretch],
) -> tuple[list[_GpuSum], list[Issue]]:
    known = {
        uuid: window_duty(duties[uuid], window, timeline.changes.get(uuid, ()))
        for uuid in timeline.presences
        if uuid in duties
    }
    busiest = _by_activity(timeline, known, window)
    sums: dict[str, _GpuSum] = {}
    issues: list[Issue] = []
    for segment in timeline.within(window):
        part = segment.period.intersection(window)
        if part is None:
            continue
        holders, faults = _holders(segment, busiest, timeline)
        issues.extend(faults)
        for uuid, those in holders.items():
            if uuid not in sums:
                duty = known.get(uuid, WindowDuty())
                sums[uuid] = _GpuSum(uuid, timeline.node, duty)
            _add(sums[uuid], part, those, is_seen=segment.is_seen)
            stretches.append(_stretch(timeline.node, uuid, part, those))
    issues.extend(
        _suspect(window, total) for total in sums.values() if total.duty.is_suspect
    )
    return [sums[uuid] for uuid in sorted(sums)], issues


def _stretch(node: str, uuid: str, part: Period, holders: Holders) -> Stretch:
    parts = tuple(
        Part(holder.uid, WHOLE, holder.share.numerator, holder.share.denominator)
        for holder in holders
    )
    return Stretch(node, uuid, part.start_ms, part.end_ms, parts)


def _by_activity(
    timeline: NodeTimeline, known: dict[str, WindowDuty], window: Period
) -> dict[str, tuple[bool, int, str]]:
    """The order in which a pool's GPUs are filled (N18).

    Busy time in the window before any attribution, most first, then UUID; placeholders
    last.
    """
    order: dict[str, tuple[bool, int, str]] = {}
    for uuid, presences in timeline.presences.items():
        active = 0
        for piece in known.get(uuid, WindowDuty()).pieces:
            for presence in presences:
                start = max(piece.start_ms, presence.start_ms, window.start_ms)
                end = min(piece.end_ms, presence.end_ms, window.end_ms)
                active += max(0, end - start) * piece.duty
        order[uuid] = (uuid in timeline.placeholders, -active, uuid)
    return order


def _holders(
    segment: Segment, order: dict[str, tuple[bool, int, str]], timeline: NodeTimeline
) -> tuple[dict[str, Holders], list[Issue]]:
    """Who has which part of every GPU of a node in a segment."""
    issues: list[Issue] = []
    found: dict[str, Holders] = {}
    for uuid, items in segment.mapped.items():
        total = sum((share for _, share in items), Fraction(0))
        scale = max(Fraction(1), total)
        if total > 1:
            issues.append(_too_much(uuid, segment.period, "a GPU"))
        flag = ESTIMATED if total > 1 else 0
        found[uuid] = tuple(
            Holder(uid, share / scale, flag | _inferred(uid, segment, timeline))
            for uid, share in items
        )
    left = wanted = sum((item.weight for item in segment.pool), Fraction(0))
    flag = INFERRED | (ESTIMATED if len(segment.pool) > 1 else 0)
    # With no GPU on the node at all there is nothing that could be scaled.
    if wanted > len(segment.unmapped) and (segment.unmapped or segment.mapped):
        issues.append(_too_much(timeline.node, segment.period, "a node's GPUs"))
        flag |= ESTIMATED
    for uuid in sorted(segment.unmapped, key=order.__getitem__):
        take = min(Fraction(1), left)
        left -= take
        found[uuid] = tuple(
            Holder(item.uid, take * item.weight / wanted, flag)
            for item in segment.pool
            if take
        )
    return found, issues


def _inferred(uid: str, segment: Segment, timeline: NodeTimeline) -> int:
    since = timeline.inferred_from.get(uid)
    return INFERRED if since is not None and since <= segment.period.start_ms else 0


def _add(total: _GpuSum, part: Period, holders: Holders, *, is_seen: bool) -> None:
    """Add one GPU's time in one segment to its sum."""
    duty = total.duty
    held = sum((holder.share for holder in holders), Fraction(0))
    length = part.length_ms
    total.present_ms += length
    covered, active, excess = _measure(part, duty.pieces, held)
    believed = 0 if duty.is_suspect else covered
    for holder in holders:
        share = _plain(holder.share)
        busy: Exact = 0
        if believed and held:
            busy = _plain((active - excess) * holder.share / held)
        _put(total, holder.uid, "busy", busy)
        _put(total, holder.uid, "idle", share * believed * BILLION - busy)
        _put(total, holder.uid, "unknown", share * (length - believed) * BILLION)
        suspect = SUSPECT if duty.is_suspect and covered else 0
        total.flags[holder.uid] |= holder.flags | suspect
    unheld = _plain(1 - held)
    if unheld:
        stray = _plain(excess) if is_seen else 0
        rest = unheld * length * BILLION - stray
        _put(total, PLATFORM, "stray", stray)
        _put(total, PLATFORM, "free" if is_seen else "dark", rest)
        if not is_seen:
            total.over_share += _plain(excess)
    inside = sum(part.contains(at) for at in duty.sample_times)
    for uid in [holder.uid for holder in holders] + ([PLATFORM] if unheld else []):
        total.samples[uid] += inside


def _measure(
    part: Period, pieces: Sequence[Valid], held: Fraction
) -> tuple[int, int, Exact]:
    """Covered milliseconds; activity; and how much of it goes beyond what is held (N22).

    Activity is in billionths of a millisecond of the whole GPU.
    """
    covered, active = 0, 0
    excess: Exact = 0
    for piece in pieces:
        length = min(piece.end_ms, part.end_ms) - max(piece.start_ms, part.start_ms)
        if length <= 0:
            continue
        covered += length
        active += length * piece.duty
        if held < 1:
            excess += length * max(Fraction(0), piece.duty - held * BILLION)
    return covered, active, _plain(excess)


def _plain(value: Exact) -> Exact:
    """A whole number as int: faster, and equal."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _put(total: _GpuSum, uid: str, state: str, amount: Exact) -> None:
    if amount:
        total.amounts[uid, state] += amount


_Cell = tuple[str, str]  # pod uid, state


def _round(parts: Sequence[_GpuSum]) -> list[Line]:
    """Whole milliseconds of one GPU, rounded once over all its lines (N23).

    A GPU that changed its node has parts on several; each cell is then divided over them.
    """
    amounts: dict[_Cell, Exact] = defaultdict(int)
    for part in parts:
        for cell, amount in part.amounts.items():
            amounts[cell] += amount
    ordered = sorted(
        amounts.items(), key=lambda item: (item[0][0], STATES.index(item[0][1]))
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


def _lines(part: _GpuSum, whole: dict[_Cell, int]) -> list[Line]:
    by_uid: dict[str, dict[str, int]] = defaultdict(dict)
    for (uid, state), ms in whole.items():
        by_uid[uid][f"{state}_ms"] = ms
    step = part.duty.step_ms or DEFAULT_STEP_MS
    return [
        Line(
            uuid=part.uuid,
            node=part.node,
            instance=WHOLE,
            pod_uid=uid,
            **states,
            over_share_ms=int(part.over_share // BILLION) if uid == PLATFORM else 0,
            flags=part.flags.get(uid, 0),
            metric=part.duty.metric,
            samples_expected=sum(states.values()) // step,
            samples_used=part.samples[uid],
        )
        for uid, states in by_uid.items()
    ]


def _suspect(window: Period, total: _GpuSum) -> Issue:
    unknown = sum(
        amount for (_, state), amount in total.amounts.items() if state == "unknown"
    )
    return Issue(
        code="suspect_silence",
        subject=total.uuid,
        message="Its metric shows only zeros while utilisation or power say it worked.",
        advice="Restart the exporter, or look for another profiler on this node.",
        first_ms=window.start_ms,
        last_ms=window.end_ms,
        at_stake_ms=int(unknown // BILLION),
    )


def _too_much(subject: str, period: Period, what: str) -> Issue:
    return Issue(
        code="more_held_than_there",
        subject=subject,
        message=f"Holds ask for more than {what} can give; they are scaled to it.",
        advice="Check the node's capacity, labels and pods of that time.",
        first_ms=period.start_ms,
        last_ms=period.end_ms,
        at_stake_ms=period.length_ms,
    )
