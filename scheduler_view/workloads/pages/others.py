"""Beside a run: the waits that were observed of it, and other runs of its family."""

from dataclasses import dataclass, replace

from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.families import RunTime, run_times
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import rounded_each
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.instants import WaitInstants, WaitParts
from scheduler_view.workloads.reads import RunHolds, RunKey

COMPARED = 8  # the newest runs of a family


@dataclass(frozen=True, slots=True)
class WaitLine:
    """An observed wait of a run, and its parts."""

    record: WaitRecord
    instants: WaitInstants

    @property
    def parts(self) -> WaitParts:
        """Admission, scheduling, start-up and warm-up."""
        return self.instants.parts

    @property
    def wait_ms(self) -> int | None:
        """From its creation to its bind."""
        return self.instants.wait_ms


def wait_line(record: WaitRecord) -> WaitLine:
    """An observed wait with its instants."""
    instants = WaitInstants(
        *(
            None if at is None else to_ms(at)
            for at in (
                *(record.created_at, record.admitted_at, record.bound_at),
                *(record.started_at, record.first_busy_at),
            )
        )
    )
    return WaitLine(record, instants)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of the same family, over its whole life."""

    kind: str
    name: str
    time: RunTime
    use: UsageRow
    is_own: bool

    @property
    def length_ms(self) -> int | None:
        """From its first to its last hold; None while it holds GPUs."""
        ended = self.time.ended_ms
        return None if ended is None else ended - self.time.began_ms


def family_runs(
    selection: Selection, key: RunKey, run: RunHolds, places: int
) -> list[ComparedRun]:
    """The newest runs of the family of a run and itself, newest first; empty if it is alone."""
    times = run_times(selection, key.team, key.namespace, run.family)
    own = (key.kind, key.name)
    newest = sorted(times, key=lambda one: -times[one].began_ms)
    shown = [one for one in newest if one != own][:COMPARED]
    if own not in times or not shown:
        return []
    shown = sorted([*shown, own], key=lambda one: -times[one].began_ms)
    first = min(times[one].began_ms for one in shown)
    ends = [times[one].ended_ms for one in shown]
    known = [end for end in ends if end is not None]
    last = max(known) if len(known) == len(ends) else _newest(selection, first)
    period = Interval(first - first % HOUR_MS, last + HOUR_MS - last % HOUR_MS)
    names = {**selection.filters, "workload": tuple({name for _, name in shown})}
    rows = usage_rows(replace(selection, period=period, filters=names), ("workload",))
    of_names = {
        (row.key["workload_kind"], row.key["workload"]): row
        for row in rounded_each(rows, places)
    }
    return [
        ComparedRun(*one, times[one], of_names[one], one == own)
        for one in shown
        if one in of_names
    ]


def _newest(selection: Selection, first: int) -> int:
    """The end of the range, for runs that hold GPUs: what is later has no data."""
    end = first if selection.period is None else selection.period.end_ms
    return max(end, first)
