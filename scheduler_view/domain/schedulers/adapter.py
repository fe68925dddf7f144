"""The interface of a scheduler: a new one is one module with an adapter.

Metrics of queues are in `accounting/sources/catalogue/queues.py`, with the name of their
scheduler.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from accounting.domain.inventory.scheduler_queues import QueueFacts

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
        kind: name in stored rows.
        endpoints: the newest version first; if a cluster does not have it, the next is tried.
        stored: the part of an object that is stored.
        facts: the figures of a queue, from its name, its stored part and its observation time;
            None if metrics have them.
        served: the queue of an object's namespace, from its stored part; None if objects do not
            have it.
    """

    kind: str
    endpoints: tuple[Endpoint, ...]
    stored: Callable[[Manifest], dict[str, Any]]
    facts: Callable[[str, Manifest, int], QueueFacts] | None = None
    served: Callable[[Manifest], str] | None = None

    @property
    def kinds(self) -> dict[str, Endpoint]:
        """Each endpoint with a separate name; the newest has the name of the kind."""
        return {
            self.kind if i == 0 else f"{self.kind} {one.version}": one
            for i, one in enumerate(self.endpoints)
        }


@dataclass(frozen=True, slots=True)
class SchedulerAdapter:
    """One scheduler.

    Attributes:
        name: in metrics, REST and stored rows.
        title: on pages.
        counts_any_gpu: its queues count GPUs of any kind together.
        objects: of its queues; None if it has only metrics.
    """

    name: str
    title: str
    counts_any_gpu: bool = False
    objects: QueueObjects | None = None
