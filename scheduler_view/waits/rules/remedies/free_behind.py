"""GPUs that are free now, where one constraint of the waiting work excludes them (S13)."""

from collections import defaultdict

from scheduler_view.waits.rules.cause import BIT, WaitCause
from scheduler_view.waits.rules.placement.verdicts import Verdicts
from scheduler_view.waits.rules.remedies.on_nodes import change_of
from scheduler_view.waits.rules.world.nodes import model_of

_OWN = (WaitCause.NO_MATCHING_NODE, WaitCause.TAINT)


def free_behind(verdicts: Verdicts) -> list[dict[str, object]]:
    """What one change of the work would open, most free GPUs first.

    Only nodes on which nothing else keeps the pod away, and whose constraint is a single one.

    Returns:
        The fields of the change, with `units` that are free, `nodes`, and `models`.
    """
    if len(verdicts.resources) != 1:
        return []
    (name,) = verdicts.resources
    units: dict[str, int] = defaultdict(int)
    nodes: dict[str, int] = defaultdict(int)
    models: dict[str, set[str]] = defaultdict(set)
    changes: dict[str, dict[str, object]] = {}
    for cause in _OWN:
        for room in verdicts.with_mask(BIT[cause]):
            found = change_of(verdicts, room, cause)
            if len(found) != 1:
                continue
            value = found[0].as_value()
            key = str(value)
            changes[key] = value
            units[key] += max(0, room.free.get(name, 0)) // 1000
            nodes[key] += 1
            models[key].add(model_of(room.node.labels))
    return [
        changes[key]
        | {"units": units[key], "nodes": nodes[key], "models": sorted(models[key])}
        for key in sorted(units, key=lambda one: (-units[one], one))
        if units[key]
    ]
