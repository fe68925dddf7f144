"""The sums of one GPU on one node in one window, and its lines (rules.md N21-N23).

Exact until the last step: integers and fractions of a billionth of a millisecond.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.core.ledger_line import ESTIMATED, PLATFORM, STATES, SUSPECT, LedgerLine
from accounting.core.rounding import Exact, largest_remainder
from accounting.metering.rules.attribution.activity import Share, measure, plain
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.attribution.utilization import WindowUtilization
from accounting.metering.rules.samples.scraper_series import BILLION, DEFAULT_STEP_MS
from accounting.metering.rules.units.geometry import GpuPart

_Head = tuple[int, str]  # instance, pod uid
_Cell = tuple[int, str, str]  # instance, pod uid, state


@dataclass(slots=True)
class _LineSum:
    """The properties of a line other than its milliseconds."""

    flags: int = 0
    samples: int = 0
    length_ms: int = 0
    over_share: Exact = 0  # billionths of a millisecond
    metric: int = 0
    step_ms: int = 0


@dataclass(slots=True)
class GpuSum:
    """The sums of one GPU on one node in one window, in billionths of a millisecond."""

    uuid: str
    node: str
    amounts: dict[_Cell, Exact] = field(default_factory=lambda: defaultdict(int))
    heads: dict[_Head, _LineSum] = field(default_factory=lambda: defaultdict(_LineSum))
    suspects: list[GpuPart] = field(default_factory=list)
    present_ms: int = 0


def add(  # all inputs that determine the result for a period
    total: GpuSum,
    share: Share,
    period: Interval,
    utilization: WindowUtilization,
    segment: Segment,
    timeline: NodeTimeline,
) -> None:
    """Add the time of one part in one segment to the sums of its GPU."""
    part, own, holders = share
    length = period.length_ms
    held = sum((holder.share for holder in holders), Fraction(0))
    measured = measure(share, period, utilization, timeline)
    believed = 0 if utilization.is_suspect else measured.covered
    divided = len(holders) > 1 and believed and measured.is_estimated
    if utilization.is_suspect and part not in total.suspects:
        total.suspects.append(part)
    for n, holder in enumerate(holders):
        busy: Exact = plain(measured.busy[n]) if believed else 0
        sampled = plain(holder.share * believed * BILLION)
        unknown = plain(holder.share * (length - believed)) * BILLION
        _put(total, part, holder.uid, "busy", busy)
        _put(total, part, holder.uid, "idle", sampled - busy)
        _put(total, part, holder.uid, "unknown", unknown)
        suspect = SUSPECT if utilization.is_suspect and measured.covered else 0
        flags = holder.flags | suspect | (ESTIMATED if divided else 0)
        _head(total, part, holder.uid, length, utilization).flags |= flags
    unheld = plain(own - held)
    excess = plain(measured.excess)
    if unheld:
        limit = unheld * length * BILLION
        stray = plain(measured.stray) if segment.is_seen else 0
        _put(total, part, PLATFORM, "stray", stray)
        state = "free" if segment.is_seen else "dark"
        _put(total, part, PLATFORM, state, plain(limit - stray))
        _head(total, part, PLATFORM, length, utilization)
        excess = plain(excess - stray)
    if excess:
        _head(total, part, PLATFORM, 0, utilization).over_share += excess
    inside = sum(period.contains(at) for at in utilization.sample_times)
    for uid in [holder.uid for holder in holders] + ([PLATFORM] if unheld else []):
        total.heads[part.instance, uid].samples += inside


def _head(
    total: GpuSum,
    part: GpuPart,
    uid: str,
    length_ms: int,
    utilization: WindowUtilization,
) -> _LineSum:
    """The line of one holder of a part, or of no holder."""
    head = total.heads[part.instance, uid]
    head.length_ms += length_ms
    head.metric = head.metric or utilization.metric
    head.step_ms = head.step_ms or utilization.step_ms
    return head


def _put(total: GpuSum, part: GpuPart, uid: str, state: str, amount: Exact) -> None:
    if amount:
        total.amounts[part.instance, uid, state] += amount


def rounded(parts: Sequence[GpuSum]) -> list[LedgerLine]:
    """Whole milliseconds of one GPU, rounded once over all its lines (N23).

    A GPU that changed its node has sums on several nodes; each cell is then divided over them.
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


def _lines(total: GpuSum, whole: dict[_Cell, int]) -> list[LedgerLine]:
    states: dict[_Head, dict[str, int]] = defaultdict(dict)
    for (instance, uid, state), ms in whole.items():
        states[instance, uid][f"{state}_ms"] = ms
    for head, found in total.heads.items():
        if found.over_share // BILLION and head not in states:
            states[head] = {}
    return [
        _line(total, head, total.heads[head], found) for head, found in states.items()
    ]


def _line(
    total: GpuSum, head: _Head, found: _LineSum, states: dict[str, int]
) -> LedgerLine:
    return LedgerLine(
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
