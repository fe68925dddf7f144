"""A GPU that was on a node for a while: what presence and all that follows from it share."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class PresenceRecord:
    """One GPU on one node in [start_ms, end_ms); `end_ms` None: still there.

    Attributes:
        uuid: the GPU's UUID, or a placeholder `<node>/<n>` (N16).
    """

    node: str
    uuid: str
    start_ms: int
    end_ms: int | None
    is_placeholder: bool = False
