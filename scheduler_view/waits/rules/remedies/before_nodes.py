"""What would let a unit start where no node decides: queues, gates, claims, volumes (S13)."""

from collections.abc import Callable, Mapping

from scheduler_view.waits.rules.autoscalers import ADDS
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.explanation import Remedy, WaitChange, remedy
from scheduler_view.waits.rules.finding import PodFinding
from scheduler_view.waits.rules.remedies.of_queues import QUEUE_REMEDIES
from scheduler_view.waits.rules.starting import JOB_RETRY_MS
from scheduler_view.waits.rules.units import WorkUnit

SWEEP_MS = 330_000  # the scheduler tries every pod again at the latest after this time


def _named(kind: str, field: str = "name") -> Callable[..., list[Remedy]]:
    def of(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
        return [remedy(kind, **{field: finding.name})]

    return of


def _placed(kind: str) -> Callable[..., list[Remedy]]:
    def of(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
        return [remedy(kind, name=f"{unit.namespace}/{finding.name}")]

    return of


def _ungate(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    gates = finding.spec.gates if finding.spec else ()
    return [Remedy(tuple(WaitChange("remove_gate", {"gate": one}) for one in gates))]


def _claim(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    is_template = finding.facts.get("missing_kind") == "template"
    kind = "create_claim_template" if is_template else "create_resource_claim"
    return _placed(kind)(unit, finding)


def _freed_claim(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    facts = finding.facts
    return [remedy("free_claim", claim=facts["claim"], pods=facts["claim_pods"])]


def lost_remedies(finding: PodFinding) -> list[Remedy]:
    """For a pod whose node is lost before it began."""
    if finding.pod is None or not finding.pod.node:
        return []
    return [
        remedy("repair_node", node=finding.pod.node),
        remedy("delete_pod", pod=finding.pod.path),
    ]


def autoscaler_remedies(finding: PodFinding) -> list[Remedy]:
    """A node that is on its way, or the limit that keeps one away."""
    told = finding.facts.get("autoscaler")
    if not isinstance(told, dict):
        return []
    if told.get("node_pool"):
        return [remedy("raise_node_pool", node_pool=told["node_pool"])]
    return [remedy("wait_for_node", by=told["by"])] if told["verdict"] == ADDS else []


def plugin_remedies(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    """The device plugin of each node that reports no GPUs, if it would report enough."""
    silent = finding.facts.get("silent_nodes")
    need = (
        max(finding.verdicts.resources.values(), default=0) if finding.verdicts else 0
    )
    is_main = finding.cause is WaitCause.NO_DEVICE_PLUGIN
    return [
        remedy("repair_plugin", node=one["node"])
        for one in (silent if isinstance(silent, list) else [])
        if (1000 * one["gpus"] >= need if "gpus" in one else is_main)
    ]


def _of_container(kind: str, *also: str) -> Callable[..., list[Remedy]]:
    def of(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
        details = {name: finding.facts[name] for name in ("container", *also)}
        return [remedy(kind, **details)]

    return of


def _retried(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    """The controller makes the pod again; only a Job waits before it does."""
    maker = str(finding.facts["maker"])
    if maker.startswith("Job/"):
        return [remedy("retry_failed", object=maker, at_most_ms=JOB_RETRY_MS)]
    return [remedy("retry_failed", object=maker)]


SIMPLE: Mapping[WaitCause, Callable[[WorkUnit, PodFinding], list[Remedy]]] = {
    WaitCause.PRIORITY_CLASS_MISSING: _named("create_priority_class"),
    WaitCause.SUSPENDED: lambda unit, _: [remedy("resume", object=unit.subject)],
    **QUEUE_REMEDIES,
    WaitCause.GATED: _ungate,
    WaitCause.CLAIM_MISSING: _claim,
    WaitCause.NOT_TRIED: _named("start_scheduler", "scheduler"),
    WaitCause.CLAIM_ELSEWHERE: _freed_claim,
    WaitCause.DEVICE_CLASS_MISSING: _named("create_device_class"),
    WaitCause.RETRY_PENDING: lambda _, __: [remedy("wait", at_most_ms=SWEEP_MS)],
    WaitCause.IMAGE_PULL: _named("repair_image", "image"),
    WaitCause.CRASH_LOOP: _of_container("repair_container", "container_kind"),
    WaitCause.INIT_CONTAINER: _of_container("wait_for_init"),
    WaitCause.BACK_OFF: _retried,
    WaitCause.CONTAINER_CONFIG: lambda _, f: [
        remedy("repair_config", pod=f.pod.path if f.pod else "")
    ],
}
