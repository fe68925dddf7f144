"""The schedulers whose queues are shown: one module each, behind one interface."""

from collections.abc import Mapping

from scheduler_view.clusters.rules.schedulers import kai, kueue, native, volcano
from scheduler_view.clusters.rules.schedulers.adapter import (
    QueueObjects,
    SchedulerAdapter,
)
from scheduler_view.clusters.rules.schedulers.queue_fields import QueueFields

SCHEDULERS: Mapping[str, SchedulerAdapter] = {
    one.name: one
    for one in (native.ADAPTER, kueue.ADAPTER, volcano.ADAPTER, kai.ADAPTER)
}


QUEUE_OBJECTS: Mapping[str, QueueObjects] = {
    one.kind: one for adapter in SCHEDULERS.values() for one in adapter.objects
}
QUEUE_FIELDS: Mapping[str, QueueFields] = {
    kind: one.fields for kind, one in QUEUE_OBJECTS.items() if one.fields is not None
}
"""The kinds of objects of which GPU Ledger may set fields."""


def queue_objects() -> list[QueueObjects]:
    """The kinds of queue objects of all schedulers."""
    return list(QUEUE_OBJECTS.values())


def scheduler_of(kind: str) -> SchedulerAdapter:
    """The adapter that has a kind of objects."""
    return next(
        one
        for one in SCHEDULERS.values()
        for objects in one.objects
        if objects.kind == kind
    )


def adapter_of(name: str) -> SchedulerAdapter:
    """The adapter of a scheduler; an unknown one has metrics only."""
    return SCHEDULERS.get(name) or SchedulerAdapter(name, name.title())
