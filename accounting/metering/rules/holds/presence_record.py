"""A period in which a GPU was present on a node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class PresenceRecord:
    """One GPU on one node in [start_ms, end_ms); `end_ms` None: still present.

    Attributes:
        uuid: the GPU's UUID, or a placeholder `<node>/<n>` (N16).
    """

    node: str
    uuid: str
    start_ms: int
    end_ms: int | None
    is_placeholder: bool = False
