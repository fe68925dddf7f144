"""What entries of queues say of work: Kueue's Workloads, pod groups of Volcano and KAI."""

from collections.abc import Iterator

from scheduler_view.waits.rules.world.lenient import Manifest, items, part, text

# reasons of KAI that are about its queues, not about nodes
KAI_QUEUE_REASONS = frozenset(
    {"NonPreemptibleOverQuota", "OverLimit", "QueueDoesNotExist"}
)
SCHEDULERS = {
    "Workload": "kueue",
    "VolcanoPodGroup": "volcano",
    "KaiPodGroup": "kai",
}
"""The scheduler of an entry, by the kind as which it is listed."""


def of_queue(kind: str, manifest: Manifest, field: str) -> str:
    """Why a queue has not let work in; empty for other kinds and after it did.

    Args:
        field: of the condition: `reason`, or `message`; KAI's reasons have no message.
    """
    if kind == "PodGroup":
        reasons = _kai_reasons(manifest) if field == "reason" else []
        return reasons[0] if reasons else _of_volcano(manifest, field)
    if kind != "Workload":
        return ""
    if part(manifest, "spec").get("active") is False:
        evicted = condition(manifest, "Evicted")
        return text(evicted, field) or ("Deactivated" if field == "reason" else "")
    conditions = {
        text(one, "type"): one for one in items(manifest, "status", "conditions")
    }
    for name in ("QuotaReserved", "Admitted"):
        one = conditions.get(name)
        if one is not None and text(one, "status") == "False":
            return text(one, field)
    return ""


def _of_volcano(manifest: Manifest, field: str) -> str:
    """Why Volcano has not enqueued a pod group."""
    found = condition(manifest, "Unschedulable")
    is_now = found is not None and text(found, "status") == "True"
    return text(found, field) if is_now else ""


def _kai_reasons(manifest: Manifest) -> list[str]:
    """Why KAI does not place a pod group."""
    return [
        text(reason, "reason")
        for one in items(manifest, "status", "schedulingConditions")
        if text(one, "type") == "UnschedulableOnNodePool"
        and text(one, "status") != "False"
        for reason in items(one, "reasons")
        if text(reason, "reason")
    ]


def waiting_checks(manifest: Manifest) -> Iterator[tuple[str, str, str]]:
    """Admission checks that are not ready, of an entry that has quota."""
    quota = condition(manifest, "QuotaReserved")
    if quota is not None and text(quota, "status") == "True":
        for one in items(manifest, "status", "admissionChecks"):
            state = text(one, "state") or "Pending"
            if state != "Ready":
                yield text(one, "name"), state, text(one, "message")


def is_held_entry(kind: str, spec: Manifest, manifest: Manifest) -> bool:
    """An entry of Kueue that is not admitted, or of Volcano or KAI that its queue holds back."""
    if kind == "Workload":
        admitted = condition(manifest, "Admitted")
        return admitted is None or text(admitted, "status") != "True"
    if kind != "PodGroup" or not text(spec, "queue"):
        return False
    is_pending = text(manifest, "status", "phase") == "Pending"
    return is_pending or bool(KAI_QUEUE_REASONS & set(_kai_reasons(manifest)))


def condition(manifest: Manifest, name: str) -> Manifest | None:
    """The condition of a type; None without one."""
    for one in items(manifest, "status", "conditions"):
        if text(one, "type") == name:
            return one
    return None
