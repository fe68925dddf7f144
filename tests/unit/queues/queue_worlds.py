"""Small clusters with work that waits in pools."""

from typing import Any

from scheduler_view.queues.rules.depth import PoolDepth, depths_of
from scheduler_view.queues.rules.queued import QueuedUnit, QueueReader, Subject
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import NOW_MS

PRODUCT = "nvidia.com/gpu.product"
HOUR_MS = 3_600_000


class Queues:
    """The queues of a world of objects by kind."""

    def __init__(
        self, objects: dict[str, Any], admitted: dict[Subject, int | None] | None = None
    ) -> None:
        explainer = Explainer(read_world(objects, NOW_MS))
        reader = QueueReader(explainer, admitted or {})
        self.rooms, self.pools = explainer.index.rooms, reader.pools
        self.units = reader.read(explainer.waiting())

    @property
    def names(self) -> list[str]:
        """Of what waits, in order."""
        return [unit.subject[2] for unit in self.units]

    def unit(self, name: str) -> QueuedUnit:
        """By its name."""
        (found,) = [unit for unit in self.units if unit.subject[2] == name]
        return found

    def depths(self) -> dict[tuple[str, str], PoolDepth]:
        """By resource and model."""
        found = depths_of(self.pools, self.rooms, self.units)
        return {(one.pool.resource, one.pool.model): one for one in found}
