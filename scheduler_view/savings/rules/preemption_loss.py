"""What preempted pods had computed and lost (scheduling.md S30)."""

from scheduler_view.savings.rules.amounts import FindingSum
from scheduler_view.savings.rules.finding import Finding, SliceKey, WasteRule
from scheduler_view.savings.rules.held_time import HeldTime
from scheduler_view.savings.rules.pieces import within


def preemption_loss(hold: HeldTime, until_ms: int) -> Finding | None:
    """The busy time of a preempted hold, of each GPU at most one checkpoint interval.

    Its money is between 0 and that of all this time.

    Args:
        until_ms: the instant up to which time is known.
    """
    if hold.preempted_ms is None:
        return None
    end = until_ms if hold.ended_ms is None else hold.ended_ms
    start = hold.bound_ms
    if hold.checkpoint_ms:
        start = max(start, end - hold.checkpoint_ms)
    amounts = FindingSum()
    for run in within(hold, start, end):
        key = SliceKey(run.day, run.team, run.currency)
        amounts.add(key, run.busy_ms, run.rate, (run.start_ms, run.end_ms))
    for part in amounts.slices.values():
        part.raw_low = part.raw * 0
    busy = sum(part.gpu_ms for part in amounts.slices.values())
    evidence = {
        "busy_ms": busy,
        "checkpoint_ms": hold.checkpoint_ms or 0,
        "lifecycle": hold.lifecycle,
    }
    return amounts.finding(WasteRule.PREEMPTED, hold.pod, evidence)
