"""Evidence that cannot be booked, as issues: it is never billed."""

from collections.abc import Iterable

from accounting.domain.core.interval import Interval
from accounting.domain.core.issue import Issue
from accounting.domain.holds.lifetime import bound_ms
from accounting.domain.inventory.fractional_requests import annotated_share
from accounting.domain.inventory.nodes import model_in, node_facts
from accounting.domain.inventory.records import Inventory, PodRecord
from accounting.domain.inventory.requests import effective_requests
from accounting.domain.inventory.resource_claims import Claims
from accounting.domain.units.gpu_units import share_of, unit_of


def unbooked(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    """Pods and instances of a period that cannot be booked."""
    yield from _unknown_instances(inventory, period)
    claims = Claims.of(inventory)
    for pod in inventory.pods.values():
        if (
            not pod.node
            or pod.last_ms < period.start_ms
            or pod.first_ms >= period.end_ms
        ):
            continue
        facts = node_facts(inventory.nodes.get(pod.node), bound_ms(pod))
        subject = f"{pod.namespace}/{pod.name}"
        at_stake_ms = _held_ms(pod, period)
        for resource in effective_requests(pod):
            if unit_of(resource, facts, inventory.added) is None:
                yield Issue(
                    code="unknown_profile",
                    subject=f"{subject} {resource}",
                    message="No GPU of this node can have this partition. It is not booked.",
                    advice="Check the node's model label and the name of the resource.",
                    first_ms=pod.first_ms,
                    last_ms=pod.last_ms,
                    at_stake_ms=at_stake_ms,
                    severity="error",
                )
        share = annotated_share(pod, facts)
        if share is not None and share > 1:
            yield Issue(
                code="share_above_one",
                subject=subject,
                message=f"Its annotations request {float(share):g} of one GPU.",
                advice="It is not booked. Request several devices instead.",
                first_ms=pod.first_ms,
                last_ms=pod.last_ms,
                at_stake_ms=at_stake_ms,
                severity="error",
            )
        for record in claims.of_pod(pod):
            if not record.devices and not record.is_observed:
                yield Issue(
                    code="claim_without_device",
                    subject=f"{subject} {record.name}",
                    message="The device of its resource claim is not known.",
                    advice="Give the portal access to the Kubernetes API, or configure the "
                    "exporter to report claims (KUBERNETES_ENABLE_DRA).",
                    first_ms=pod.first_ms,
                    last_ms=pod.last_ms,
                    at_stake_ms=at_stake_ms,
                )


def _held_ms(pod: PodRecord, period: Interval) -> int:
    """How long a pod held something in a period: at stake as the time of one GPU."""
    start = max(bound_ms(pod), period.start_ms)
    return max(0, min(pod.last_ms, period.end_ms) - start)


def _unknown_instances(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    for uuid, gpu in inventory.gpus.items():
        places = gpu.nodes() if gpu.geometry else {}
        latest = max(places, key=lambda name: places[name][-1].last_ms, default="")
        model = model_in(gpu, inventory.nodes.get(latest))
        for i, (at, instances) in enumerate(gpu.geometry):
            later = gpu.geometry[i + 1 :]
            end = later[0][0] if later else period.end_ms
            if at >= period.end_ms or end <= period.start_ms:
                continue
            for kind in sorted({kind for _, kind in instances}):
                if not kind or share_of(kind, model) is None:
                    yield Issue(
                        code="unknown_profile",
                        subject=f"{uuid} {kind}",
                        message="GPUs of this model do not have such instances. The time counts "
                        "as stranded.",
                        advice="Check the exporter's labels GPU_I_PROFILE and modelName.",
                        first_ms=max(at, period.start_ms),
                        last_ms=min(end, period.end_ms),
                        severity="error",
                    )
