"""Failed pods that GPU samples named before they failed: they ran (rules.md N11, trap T34)."""

from collections import defaultdict

from accounting.metering.rules.inventory.labels import is_own
from accounting.metering.rules.inventory.records import Inventory, PodRecord

SAMPLES = 2  # one can be of an earlier pod of the name, with a label that lags


def note_named(inventory: Inventory) -> set[str]:
    """Update which failed pods the loaded labels name; returns the uids of changed pods."""
    failed: dict[tuple[str, str], list[PodRecord]] = defaultdict(list)
    for pod in inventory.pods.values():
        if pod.terminal_phase == "Failed" and not (pod.has_run or pod.was_named):
            failed[pod.namespace, pod.name].append(pod)
    times: dict[str, set[int]] = defaultdict(set)
    for label, shown in inventory.gpu_labels.items() if failed else ():
        for pod in failed.get((label.pod.namespace, label.pod.pod), ()):
            is_of_it = label.pod.uid in {"", pod.uid} and label.place.node == pod.node
            if is_of_it and not is_own(label, inventory):
                times[pod.uid].update(
                    at for at in shown.times.tolist() if _is_in(pod, at)
                )
    changed = {uid for uid, found in times.items() if len(found) >= SAMPLES}
    for uid in changed:
        inventory.pods[uid].was_named = True
    return changed


def _is_in(pod: PodRecord, at: int) -> bool:
    """True from its bind until it was first shown as failed."""
    bound, failed = pod.scheduled_ms or pod.node_first_ms, pod.terminal_first_ms
    return bound is not None and failed is not None and bound <= at < failed
