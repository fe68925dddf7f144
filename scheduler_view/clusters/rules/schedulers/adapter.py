"""The interface of a scheduler: a new one is one module with an adapter.

Metrics of queues are in `accounting/metering/sources/catalogue/queues.py`, with the name of their
scheduler.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounting.metering.rules.inventory.scheduler_queues import QueueFacts
from scheduler_view.clusters.rules.schedulers.queue_fields import QueueFields
from scheduler_view.clusters.rules.shape import Fields

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The API path of objects: `kueue.x-k8s.io/v1beta2`, `localqueues`."""

    version: str
    plural: str
    is_namespaced: bool = True


@dataclass(frozen=True, slots=True)
class QueueObjects:
    """Objects with which a scheduler describes its queues.

    Attributes:
        kind: name in stored rows and plans; unique, unlike `Queue` of two APIs.
        endpoints: the newest version first; if a cluster does not have it, the next is tried.
        shape: of the fields that are read.
        stored: the part of an object that is stored.
        facts: the figures of a queue, from its name, its stored part and its observation time;
            None if metrics have them.
        served: the queue of an object's namespace, from its stored part; None if objects do not
            have it.
        fields: the fields that GPU Ledger may set; None if objects are only read.
    """

    kind: str
    endpoints: tuple[Endpoint, ...]
    shape: Fields
    stored: Callable[[Manifest], dict[str, Any]]
    facts: Callable[[str, Manifest, int], QueueFacts] | None = None
    served: Callable[[Manifest], str] | None = None
    fields: QueueFields | None = None


@dataclass(frozen=True, slots=True)
class SchedulerAdapter:
    """One scheduler.

    Attributes:
        name: in metrics, REST and stored rows.
        title: on pages.
        counts_any_gpu: its queues count GPUs of any kind together.
        objects: that describe its queues; empty if it has only metrics.
    """

    name: str
    title: str
    counts_any_gpu: bool = False
    objects: Sequence[QueueObjects] = ()
