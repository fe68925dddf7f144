"""The numbers behind a cause on nodes: what is requested, and what is free where (S13)."""

import numpy as np

from scheduler_view.waits.rules.cause import BIT, WaitCause
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.world.lenient import quantity

MOST = 8  # nodes whose free units are named
_GPUS = (WaitCause.NO_FREE_GPU, WaitCause.FRAGMENTED, WaitCause.GPU_UNHEALTHY)


def numbers_of(verdicts: Verdicts) -> dict[str, object]:
    """What is requested, and free on the nodes that the cause is about; empty for other causes.

    Returns:
        For GPUs `resource`, `requested`, `free` (whole units, most first, only where some are) and
        `nodes`; for a request that is too big `largest`; for others `short`: by resource what is
        requested and the most that is free.
    """
    cause, table = verdicts.cause, verdicts.table
    if cause not in BIT:
        return {}
    masks = verdicts.masks
    where = verdicts.candidates.positions[(masks & -masks) == BIT[cause]]
    name = max(verdicts.resources, key=lambda n: (verdicts.resources[n], n), default="")
    found: dict[str, object] = {"nodes": len(where)}
    if name:
        found |= {"resource": name, "requested": verdicts.resources[name] // 1000}
    if cause in _GPUS and name:
        free = np.sort(table.free(name)[where] // 1000)[::-1]
        found["free"] = free[free > 0][:MOST].tolist()
    elif cause is WaitCause.TOO_BIG and name:
        found["largest"] = int(table.allocatable(name)[where].max() // 1000)
    elif cause is WaitCause.CPU_MEMORY:
        found["short"] = {
            key: {"requested": quantity(need), "free": quantity(max(0, most))}
            for key, need in verdicts.demand.spec.requests
            if key not in verdicts.resources
            and (most := int(table.free(key)[where].max())) < need
        }
    return found
