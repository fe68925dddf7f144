"""What a pod requires of a node: the part of its spec that decides where it may run.

Values are hashable, so that pods with the same requirements are explained once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler_view.domain.waits.world.lenient import (
    Manifest,
    amounts,
    items,
    part,
    text,
    texts,
    whole,
)
from scheduler_view.domain.waits.world.selectors import (
    LabelSelector,
    NodeTerm,
    label_selector,
    node_terms,
)

DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Toleration:
    """Which taints are tolerated; an empty key, effect or value matches any."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class PodTerm:
    """A required term of pod affinity or anti-affinity.

    Attributes:
        namespaces: named ones; with neither these nor a selector, the pod's own.
        namespace_selector: None if there is none.
    """

    selector: LabelSelector | None
    topology_key: str
    namespaces: frozenset[str] = frozenset()
    namespace_selector: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A topology spread constraint with `DoNotSchedule`."""

    topology_key: str
    max_skew: int
    selector: LabelSelector | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False
    match_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A resource claim of a pod: by its name, or made from a template."""

    name: str
    claim: str
    template: str


@dataclass(frozen=True, slots=True)
class PodSpec:
    """The requirements of a pod.

    Attributes:
        requests: effective ones in thousandths, by resource, sorted.
        zeros: resources of which a container requests 0, sorted.
        node_terms: None without a required node affinity.
        host_ports: number and protocol.
        volumes: names of PersistentVolumeClaims.
        priority: None if the API server has not resolved it, as in a template.
        deadline_s: the longest time that it may run; None without a limit.
    """

    requests: tuple[tuple[str, int], ...] = ()
    zeros: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    node_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    host_ports: frozenset[tuple[int, str]] = frozenset()
    volumes: tuple[str, ...] = ()
    claims: tuple[PodClaim, ...] = ()
    gates: tuple[str, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    never_preempts: bool = False
    scheduler: str = DEFAULT_SCHEDULER
    deadline_s: int | None = None

    def request(self, resource: str) -> int:
        """Thousandths of a resource."""
        return dict(self.requests).get(resource, 0)


def pod_spec(spec: Manifest) -> PodSpec:
    """The requirements in `spec` of a pod or of a template."""
    affinity = part(spec, "affinity")
    required = part(affinity, "nodeAffinity").get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    containers = items(spec, "containers")
    return PodSpec(
        requests=tuple(sorted(effective_requests_of(spec).items())),
        zeros=tuple(
            sorted({n for one in containers for n, a in _asked(one).items() if not a})
        ),
        node_selector=tuple(
            sorted(
                (key, value)
                for key, value in part(spec, "nodeSelector").items()
                if isinstance(value, str)
            )
        ),
        node_terms=node_terms(required),
        tolerations=tuple(_toleration(one) for one in items(spec, "tolerations")),
        affinity=_pod_terms(part(affinity, "podAffinity")),
        anti_affinity=_pod_terms(part(affinity, "podAntiAffinity")),
        spread=tuple(
            _spread(one)
            for one in items(spec, "topologySpreadConstraints")
            if text(one, "whenUnsatisfiable") != "ScheduleAnyway"
        ),
        host_ports=frozenset(
            (number, text(port, "protocol") or "TCP")
            for container in containers
            for port in items(container, "ports")
            if (number := whole(port, "hostPort"))
        ),
        volumes=tuple(
            name
            for one in items(spec, "volumes")
            if (name := text(one, "persistentVolumeClaim", "claimName"))
        ),
        claims=tuple(
            PodClaim(
                text(one, "name"),
                text(one, "resourceClaimName"),
                text(one, "resourceClaimTemplateName"),
            )
            for one in items(spec, "resourceClaims")
        ),
        gates=tuple(text(one, "name") for one in items(spec, "schedulingGates")),
        priority=whole(spec, "priority"),
        priority_class=text(spec, "priorityClassName"),
        never_preempts=text(spec, "preemptionPolicy") == "Never",
        scheduler=text(spec, "schedulerName") or DEFAULT_SCHEDULER,
        deadline_s=whole(spec, "activeDeadlineSeconds"),
    )


def effective_requests_of(spec: Manifest) -> dict[str, int]:
    """What Kubernetes reserves for a pod, in thousandths, by resource.

    max(main containers + sidecars, each init container + the sidecars before it), then the
    overhead; requests of the whole pod replace the sum.
    """
    need = _sum(_asked(one) for one in items(spec, "containers"))
    before: dict[str, int] = {}
    peak: dict[str, int] = {}
    for one in items(spec, "initContainers"):
        asked = _asked(one)
        if text(one, "restartPolicy") == "Always":
            before = _sum((before, asked))
            peak = _largest(peak, before)
        else:
            peak = _largest(peak, _sum((before, asked)))
    need = _largest(_sum((need, before)), peak)
    need |= _asked(spec)
    need = _sum((need, amounts(spec, "overhead")))
    return {name: amount for name, amount in need.items() if amount}


def _asked(container: Manifest) -> dict[str, int]:
    found = part(container, "resources")
    return amounts(found, "limits") | amounts(found, "requests")


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in parts:
        for name, amount in one.items():
            found[name] = found.get(name, 0) + amount
    return found


def _largest(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {n: max(one.get(n, 0), other.get(n, 0)) for n in {**one, **other}}


def _toleration(one: Manifest) -> Toleration:
    return Toleration(
        text(one, "key"),
        text(one, "operator") or "Equal",
        text(one, "value"),
        text(one, "effect"),
    )


def _pod_terms(value: Manifest) -> tuple[PodTerm, ...]:
    return tuple(
        PodTerm(
            label_selector(one.get("labelSelector")),
            text(one, "topologyKey"),
            frozenset(texts(one, "namespaces")),
            label_selector(one.get("namespaceSelector")),
        )
        for one in items(value, "requiredDuringSchedulingIgnoredDuringExecution")
    )


def _spread(one: Manifest) -> SpreadRule:
    return SpreadRule(
        text(one, "topologyKey"),
        max(1, whole(one, "maxSkew") or 1),
        label_selector(one.get("labelSelector")),
        whole(one, "minDomains") or 1,
        text(one, "nodeAffinityPolicy") != "Ignore",
        text(one, "nodeTaintsPolicy") == "Honor",
        texts(one, "matchLabelKeys"),
    )
