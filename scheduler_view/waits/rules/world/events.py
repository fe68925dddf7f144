"""Events as observed: evidence of what a controller or a scheduler reported."""

from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import Manifest, instant_ms, part, text

REFUSED = "FailedCreate"
NO_CLAIM = "FailedResourceClaimCreation"
NODE_REFUSED, NODES_COME = "NotTriggerScaleUp", "TriggeredScaleUp"
AUTOSCALER, KARPENTER = "cluster-autoscaler", "karpenter"
NOMINATED, UNPLACED = "Nominated", "FailedScheduling"  # of Karpenter
NO_CAPACITY = "InsufficientCapacityError"
NOT_MOUNTED, NO_SANDBOX = "FailedMount", "FailedCreatePodSandBox"
_READ = {
    **dict.fromkeys((REFUSED, NO_CLAIM, NOT_MOUNTED, NO_SANDBOX), ""),
    **dict.fromkeys((NODE_REFUSED, NODES_COME), AUTOSCALER),
    **dict.fromkeys((NOMINATED, UNPLACED, NO_CAPACITY), KARPENTER),
}
"""Reasons of events that are read, and who must have reported them; empty for anyone."""
READ_FIELDS = (
    *(f"reason={reason}" for reason, source in _READ.items() if not source),
    f"source={AUTOSCALER},involvedObject.kind=Pod",
    f"source={KARPENTER}",
)
"""Selectors by which they are listed: each list reads all events of a cluster."""


def is_read(manifest: Manifest) -> bool:
    """Whether an event may decide or support a cause; others are not kept."""
    source = _READ.get(text(manifest, "reason"))
    return source is not None and source in ("", _source(manifest))


def _source(manifest: Manifest) -> str:
    return text(manifest, "source", "component") or text(manifest, "reportingComponent")


@dataclass(frozen=True, slots=True)
class EventObject:
    """One event.

    Attributes:
        kind, namespace, name, uid: the object that it is about.
        at_ms: when it was last repeated.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    at_ms: int


def event_object(manifest: Manifest) -> EventObject:
    """An event from the API server's JSON; an instant that is missing counts as the oldest."""
    about = part(manifest, "involvedObject")
    times = (
        instant_ms(manifest, "series", "lastObservedTime"),
        instant_ms(manifest, "lastTimestamp"),
        instant_ms(manifest, "eventTime"),
        instant_ms(manifest, "metadata", "creationTimestamp"),
    )
    return EventObject(
        text(about, "kind"),
        text(about, "namespace"),
        text(about, "name"),
        text(about, "uid"),
        text(manifest, "reason"),
        text(manifest, "message"),
        next((one for one in times if one is not None), 0),
    )
