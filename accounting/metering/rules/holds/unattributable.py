"""Evidence that cannot be booked, as issues: it is never billed."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.holds.lifetime import bound_ms, is_refused
from accounting.metering.rules.inventory.fractional_requests import annotated_share
from accounting.metering.rules.inventory.nodes import model_in, node_facts
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.inventory.requests import effective_requests, units_of
from accounting.metering.rules.inventory.resource_claims import Claims
from accounting.metering.rules.units.geometry import Instances
from accounting.metering.rules.units.gpu_units import share_of, unit_of
from accounting.metering.rules.units.mig_profiles import is_read_by_numbers


def unbooked(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    """Pods and instances of a period that cannot be booked."""
    yield from _unknown_instances(inventory, period)
    yield from _without_uid(inventory, period)
    yield from _refused(inventory, period)
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


def _without_uid(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    """Pods of a kube-state-metrics before 2.0, by its job: at stake is what they request."""
    found: dict[str, list[PodRecord]] = defaultdict(list)
    for pod in inventory.pods.values():
        is_there = pod.last_ms >= period.start_ms and pod.first_ms < period.end_ms
        if is_there and pod.requests and pod.uid == f"{pod.namespace}/{pod.name}":
            jobs = {scraper.job for scraper in pod.scrapers}
            found[min(jobs, default="")].append(pod)
    for job, pods in sorted(found.items()):
        yield Issue(
            code="pod_without_uid",
            subject=job or "kube-state-metrics",
            message=f"{len(pods)} pods have no uid, as of kube-state-metrics before 2.0, such as "
            f"{min(pod.uid for pod in pods)}.",
            advice="Upgrade kube-state-metrics to 2.0 or newer.",
            first_ms=max(period.start_ms, min(pod.first_ms for pod in pods)),
            last_ms=min(period.end_ms, max(pod.last_ms for pod in pods)),
            at_stake_ms=int(sum(_requested_ms(pod, inventory, period) for pod in pods)),
        )


def _requested_ms(pod: PodRecord, inventory: Inventory, period: Interval) -> Fraction:
    """The GPU time that a pod's requests come to in a period."""
    facts = node_facts(inventory.nodes.get(pod.node), bound_ms(pod))
    units = units_of(pod, facts, inventory.added) if pod.node else ()
    gpus = sum((count * unit.share for _, count, unit in units), Fraction())
    return gpus * _held_ms(pod, period)


def _refused(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    """Nodes whose kubelet refused pods that requested GPUs."""
    for pod in inventory.pods.values():
        at = pod.terminal_first_ms
        if at is None or not period.start_ms <= at < period.end_ms or not pod.node:
            continue
        if effective_requests(pod) and is_refused(pod):
            why = pod.failed_reason or "kube-state-metrics does not show why"
            yield Issue(
                code="pod_refused",
                subject=pod.node,
                message="The kubelet of this node refused pods that requested GPUs, such as "
                f"{pod.namespace}/{pod.name} ({why}). They held nothing.",
                first_ms=bound_ms(pod),
                last_ms=at,
            )


def _held_ms(pod: PodRecord, period: Interval) -> int:
    """How long a pod held something in a period: at stake as the time of one GPU."""
    start = max(bound_ms(pod), period.start_ms)
    return max(0, min(pod.last_ms, period.end_ms) - start)


def _unknown_instances(inventory: Inventory, period: Interval) -> Iterable[Issue]:
    for uuid, gpu in inventory.gpus.items():
        if not gpu.geometry:
            continue
        places = gpu.nodes()
        latest = max(places, key=lambda name: places[name][-1].last_ms, default="")
        model = model_in(gpu, inventory.nodes.get(latest))
        last = [spans[-1].last_ms + spans[-1].step_ms for spans in places.values()]
        changes = [at for at, _ in gpu.geometry]
        ends = [*changes[1:], max(last, default=period.end_ms)]
        for (at, instances), end in zip(gpu.geometry, ends, strict=True):
            shown = Interval(at, max(at, end)).intersection(period)
            if shown is not None:
                yield from _odd_profiles(uuid, model, instances, shown)


def _odd_profiles(
    uuid: str, model: str, instances: Instances, shown: Interval
) -> Iterable[Issue]:
    """Profiles that are not in the table of a GPU's model; at stake is their part of the GPU."""
    counts = Counter(kind for _, kind in instances)
    shares = {kind: share_of(kind, model) if kind else None for kind in counts}
    known = sum(
        (share[0] * counts[kind] for kind, share in shares.items() if share), Fraction()
    )
    for kind, share in sorted(shares.items()):
        if share is not None and not is_read_by_numbers(kind, model):
            continue
        part = max(Fraction(), 1 - known) if share is None else share[0] * counts[kind]
        yield Issue(
            code="unknown_profile",
            subject=f"{uuid} {kind}",
            message=_STRANDED
            if share is None
            else f"The table of {model} has no such profile. One instance counts as {share[0]} of "
            "the GPU, by the numbers of its name.",
            advice="Check the exporter's labels GPU_I_PROFILE and modelName."
            if share is None
            else "Compare it with docs/metering.md. If the GPU has this profile, report it.",
            first_ms=shown.start_ms,
            last_ms=shown.end_ms,
            at_stake_ms=int(shown.length_ms * min(part, Fraction(1))),
            severity="error" if share is None else "warning",
        )


_STRANDED = (
    "GPUs of this model do not have such instances. The time counts as stranded."
)
