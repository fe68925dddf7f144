"""What the product must know of a scheduler: a new one is one module with an adapter.

Metrics of queues are in `accounting/sources/catalogue/queues.py`, with the name of the
scheduler that they are of.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from accounting.domain.inventory.scheduler_queues import QueueFacts

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server has objects: `kueue.x-k8s.io/v1beta2`, `localqueues`."""

    version: str
    plural: str
    is_namespaced: bool = True


@dataclass(frozen=True, slots=True)
class QueueObjects:
    """Objects that a scheduler keeps of its queues.

    Attributes:
        kind: the name under which they are stored.
        endpoints: the newest version first; a cluster that lacks one is asked for the next.
        stored: the part of an object that is stored.
        facts: the figures of a queue, from its name, its stored part and when it was seen;
            None where metrics have them.
        served: the queue that the namespace of an object sends its work to, from its stored
            part; None where objects do not say it.
    """

    kind: str
    endpoints: tuple[Endpoint, ...]
    stored: Callable[[Manifest], dict[str, Any]]
    facts: Callable[[str, Manifest, int], QueueFacts] | None = None
    served: Callable[[Manifest], str] | None = None

    @property
    def kinds(self) -> dict[str, Endpoint]:
        """Each endpoint under a name of its own; the newest has the name of the kind."""
        return {
            self.kind if i == 0 else f"{self.kind} {one.version}": one
            for i, one in enumerate(self.endpoints)
        }


@dataclass(frozen=True, slots=True)
class SchedulerAdapter:
    """One scheduler.

    Attributes:
        name: as metrics, REST and stored rows have it.
        title: as pages show it.
        counts_any_gpu: its queues count GPUs of any kind together.
        objects: what it keeps of queues; None where only its metrics say something.
    """

    name: str
    title: str
    counts_any_gpu: bool = False
    objects: QueueObjects | None = None
