"""What a pod requires of a node: the part of its spec that decides where it may run.

Values are hashable, so that pods with the same requirements are explained once.
"""

from dataclasses import dataclass
from operator import attrgetter

from scheduler_view.waits.rules.world.containers import (
    ContainerAsk,
    container_asks,
    reserved,
)
from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    items,
    part,
    text,
    texts,
    whole,
)
from scheduler_view.waits.rules.world.selectors import (
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
        limits: the same of limits; empty without any.
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
    limits: tuple[tuple[str, int], ...] = ()

    def request(self, resource: str) -> int:
        """Thousandths of a resource."""
        return dict(self.requests).get(resource, 0)


def pod_spec(spec: Manifest) -> PodSpec:
    """The requirements in `spec` of a pod or of a template."""
    affinity = part(spec, "affinity")
    required = part(affinity, "nodeAffinity").get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    asks = container_asks(spec)
    stays = [  # sidecars hold their ports as well
        *items(spec, "containers"),
        *(
            one
            for one in items(spec, "initContainers")
            if text(one, "restartPolicy") == "Always"
        ),
    ]
    has_limits = any(one.limits for one in asks)
    return PodSpec(
        requests=tuple(sorted(_of_pod(spec, asks, "requests").items())),
        zeros=tuple(sorted({n for one in asks for n, a in one.requests if not a})),
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
            for container in stays
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
        limits=tuple(sorted(_of_pod(spec, asks, "limits").items()))
        if has_limits
        else (),
    )


def _of_pod(
    spec: Manifest, asks: tuple[ContainerAsk, ...], name: str
) -> dict[str, int]:
    """What Kubernetes reserves for a pod, or its limits, in thousandths, by resource.

    That of its containers (`containers.reserved`), and the overhead; requests of the whole pod
    replace the sum.
    """
    need = reserved(asks, attrgetter(name))
    of_pod = part(spec, "resources")
    need |= amounts(of_pod, "limits")
    need |= amounts(of_pod, name)
    for resource, amount in amounts(spec, "overhead").items():
        need[resource] = need.get(resource, 0) + amount
    return {name: amount for name, amount in need.items() if amount}


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
