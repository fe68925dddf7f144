"""Karpenter's objects as observed: pools of nodes, and nodes that it is making."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    items,
    part,
    text,
)

_STEPS = ("Launched", "Registered", "Initialized")


@dataclass(frozen=True, slots=True)
class NodePoolObject:
    """One NodePool.

    Attributes:
        limits, used: thousandths by resource, of all its nodes together.
        startup_taints: keys of taints that its nodes have until they are set up.
    """

    name: str
    limits: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    startup_taints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeClaimObject:
    """One node that Karpenter makes, or has made.

    Attributes:
        step: the first of launched, registered and initialized that it has not reached; else empty.
        reason, message: why not, as Karpenter reports it.
    """

    name: str
    step: str = ""
    reason: str = ""
    message: str = ""


def node_pool_object(manifest: Manifest) -> NodePoolObject:
    """A NodePool from the API server's JSON."""
    template = part(manifest, "spec", "template", "spec")
    return NodePoolObject(
        text(manifest, "metadata", "name"),
        amounts(manifest, "spec", "limits"),
        amounts(manifest, "status", "resources"),
        frozenset(text(one, "key") for one in items(template, "startupTaints")),
    )


def node_claim_object(manifest: Manifest) -> NodeClaimObject:
    """A NodeClaim from the API server's JSON."""
    name = text(manifest, "metadata", "name")
    conditions = {
        text(one, "type"): one for one in items(manifest, "status", "conditions")
    }
    for step in _STEPS:
        one = conditions.get(step, {})
        if text(one, "status") != "True":
            return NodeClaimObject(
                name, step, text(one, "reason"), text(one, "message")
            )
    return NodeClaimObject(name)
