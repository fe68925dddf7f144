"""What would let a unit start where no node decides: refusals, queues, claims, volumes (S13)."""

from collections.abc import Callable, Mapping

from scheduler_view.domain.quotas.quota_key import REQUESTS, resource_of
from scheduler_view.domain.waits.autoscalers import ADDS
from scheduler_view.domain.waits.cause import WaitCause
from scheduler_view.domain.waits.explanation import Remedy, WaitChange, remedy
from scheduler_view.domain.waits.finding import PodFinding
from scheduler_view.domain.waits.placement.index import WorldIndex
from scheduler_view.domain.waits.refusals import AdmissionRefusal
from scheduler_view.domain.waits.remedies.of_queues import QUEUE_REMEDIES
from scheduler_view.domain.waits.starting import JOB_RETRY_MS
from scheduler_view.domain.waits.units import WorkUnit
from scheduler_view.domain.waits.world.lenient import quantity

SWEEP_MS = 330_000  # the scheduler tries every pod again at the latest after this time


def quota_remedies(
    index: WorldIndex, unit: WorkUnit, finding: PodFinding
) -> list[Remedy]:
    """A larger quota for all pods that are missing, or what the quota demands."""
    refusal = finding.refusal
    if refusal is None:
        return []
    if refusal.must_specify:
        resource = refusal.must_specify.removeprefix(REQUESTS)
        return [remedy("add_request", resource=resource)]
    if not refusal.name or not refusal.key:
        return []
    to = refusal.used + refusal.requested * finding.votes
    found = [
        remedy(
            "raise_quota",
            quota=f"{unit.namespace}/{refusal.name}",
            to=_amount(index, refusal.key, to),
        )
    ]
    if refusal.cause is WaitCause.SCOPE_QUOTA:
        found.append(remedy("lower_tier"))
    return found


def limit_remedies(
    index: WorldIndex, unit: WorkUnit, refusal: AdmissionRefusal
) -> list[Remedy]:
    """A request within the limit, or a larger limit."""
    name = f"{unit.namespace}/{refusal.name}" if refusal.name else ""
    most = _amount(index, refusal.key, refusal.hard)
    is_gpu = isinstance(most, int)
    asked = _amount(index, refusal.key, refusal.requested)
    shrunk = {"units": most} if is_gpu else {"resource": refusal.key, "to": most}
    return [
        remedy("shrink_request", **shrunk),
        remedy("raise_limit_range", name=name, to=asked),
    ]


def quota_facts(index: WorldIndex, refusal: AdmissionRefusal) -> dict[str, object]:
    """The quota or limit that refused, in whole units of GPUs."""
    if refusal.cause is WaitCause.LIMIT_RANGE:
        most = quantity(refusal.hard)
        return {
            "limit": {
                "name": refusal.name,
                "type": refusal.type,
                "max": {refusal.key: most},
            }
        }
    if refusal.must_specify:
        facts = {"name": refusal.name, "key": refusal.key, "must_specify": True}
        return {"quota": facts}
    if not refusal.key:
        return {"missing": refusal.name} if refusal.name else {}
    found: dict[str, object] = {"name": refusal.name, "key": refusal.key}
    for name in ("hard", "used", "requested"):
        found[name] = _amount(index, refusal.key, getattr(refusal, name))
    if refusal.classes:
        found["scope"] = {"PriorityClass": sorted(refusal.classes)}
    return {"quota": found}


def _amount(index: WorldIndex, key: str, thousandths: int) -> int | str:
    """GPUs as an integer, other resources as a quantity."""
    if resource_of(key, index.world.added):
        return thousandths // 1000
    return quantity(thousandths)


def simple_remedies(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    """The change that a cause names directly; empty for causes of nodes and quotas."""
    found = _SIMPLE.get(finding.cause)
    return found(unit, finding) if found is not None else []


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


def _victims(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    victims = finding.facts.get("victims")
    count = len(victims) if isinstance(victims, list) else 0
    return [remedy("wait_for_end", pods=count)]


def lost_remedies(finding: PodFinding) -> list[Remedy]:
    """For a pod whose node is lost before it began."""
    if finding.pod is None or not finding.pod.node:
        return []
    return [
        remedy("repair_node", node=finding.pod.node),
        remedy("delete_pod", pod=finding.pod.path),
    ]


def _unbound(unit: WorkUnit, finding: PodFinding) -> list[Remedy]:
    return _placed("provide_volume")(unit, finding) if finding.name else []


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


_SIMPLE: Mapping[WaitCause, Callable[[WorkUnit, PodFinding], list[Remedy]]] = {
    WaitCause.PRIORITY_CLASS_MISSING: _named("create_priority_class"),
    WaitCause.SUSPENDED: lambda unit, _: [remedy("resume", object=unit.subject)],
    **QUEUE_REMEDIES,
    WaitCause.GATED: _ungate,
    WaitCause.CLAIM_MISSING: _claim,
    WaitCause.NOT_TRIED: _named("start_scheduler", "scheduler"),
    WaitCause.PREEMPTING: _victims,
    WaitCause.NO_DEVICE_PLUGIN: plugin_remedies,
    WaitCause.VOLUME_MISSING: _placed("create_claim"),
    WaitCause.VOLUME_UNBOUND: _unbound,
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
