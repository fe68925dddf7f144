"""What would let work into a queue of Kueue, Volcano or KAI, by what keeps it out (S13)."""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explanation import Remedy, remedy
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.units import WorkUnit

MOST_NAMED = 3  # other queues of the namespace
_LIMIT = ("object", "field", "more", "to", "resource", "flavor")


def _admitted(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    """Enough work of it or of its cohort runs and can end, or it may have more."""
    limit, ends = _limit(finding), []
    if "ends_in" in finding.facts:
        subject = finding.facts["ends_in"]
        amount = (
            {"units": limit["more"], "resource": limit["resource"]} if limit else {}
        )
        ends = [remedy("end_let_in", queue=_name(subject), object=subject, **amount)]
    if limit:
        return [*ends, *_raised(limit)]
    behind = finding.facts.get("cluster_queue")
    if behind:
        return [*ends, remedy("raise_queue", queue=behind)]
    is_cluster_wide = "scheduler" in finding.facts or not finding.name
    place = "" if is_cluster_wide else f"{unit.namespace}/"
    return [remedy("queue_admits", queue=f"{place}{finding.name}")]


def _raised(limit: Mapping[str, Any]) -> list[Remedy]:
    """A larger quota of the queue, as a change set could set it."""
    if "field" not in limit:
        return []
    details = {name: limit[name] for name in _LIMIT if name in limit}
    return [remedy("raise_queue_value", queue=_name(limit["queue"]), **details)]


def _limited(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    limit = _limit(finding)
    most, resource = limit.get("most"), limit.get("resource", "")
    found = _raised(limit)
    if most not in (0, "0", None):
        found.insert(0, remedy("shrink_total", to=most, resource=resource))
    return found


def _limit(finding: PodFinding) -> Mapping[str, Any]:
    found = finding.facts.get("limit")
    return found if isinstance(found, dict) else {}


def _name(subject: object) -> str:
    return str(subject).partition("/")[2]


def _made(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    others = finding.facts.get("others")
    named = others[:MOST_NAMED] if isinstance(others, list) else []
    return [
        *(remedy("change_queue", queue=one) for one in named),
        remedy("create_queue", object=finding.facts["object"]),
    ]


def _opened(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    facts = finding.facts
    for kind, name in (("allow_namespace", "namespace"), ("repair_queue", "inactive")):
        if name in facts:
            return [remedy(kind, object=facts["object"], **{name: facts[name]})]
    return [remedy("resume_queue", object=facts["object"])]


def _activated(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    return [remedy("activate", object=finding.facts["object"])]


def _checked(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    return [remedy("pass_check", check=finding.facts["check"])]


QUEUE_REMEDIES: Mapping[WaitCause, Callable[[WorkUnit, PodFinding], list[Remedy]]] = {
    WaitCause.QUEUE: _admitted,
    WaitCause.QUEUE_CHECK: _checked,
    WaitCause.QUEUE_LIMIT: _limited,
    WaitCause.QUEUE_STOPPED: _opened,
    WaitCause.QUEUE_MISSING: _made,
    WaitCause.QUEUE_DEACTIVATED: _activated,
}
