"""The schedulers whose queues are shown: one module each, behind one interface."""

from collections.abc import Mapping

from scheduler_view.domain.schedulers import kai, kueue, native, volcano
from scheduler_view.domain.schedulers.adapter import QueueObjects, SchedulerAdapter

SCHEDULERS: Mapping[str, SchedulerAdapter] = {
    one.name: one
    for one in (native.ADAPTER, kueue.ADAPTER, volcano.ADAPTER, kai.ADAPTER)
}


def queue_objects() -> list[QueueObjects]:
    """The kinds of queue objects of all schedulers."""
    return [one.objects for one in SCHEDULERS.values() if one.objects is not None]


def adapter_of(name: str) -> SchedulerAdapter:
    """The adapter of a scheduler; an unknown one has metrics only."""
    return SCHEDULERS.get(name) or SchedulerAdapter(name, name.title())
