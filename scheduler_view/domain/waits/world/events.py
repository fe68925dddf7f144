"""Events as observed: evidence of what a controller or a scheduler reported."""

from dataclasses import dataclass

from scheduler_view.domain.waits.world.lenient import Manifest, instant_ms, part, text

REFUSED = "FailedCreate"
NO_CLAIM = "FailedResourceClaimCreation"
READ_REASONS = frozenset({REFUSED, NO_CLAIM})
"""Reasons of events that decide a cause; others are not read."""


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
