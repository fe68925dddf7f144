"""Which object of a cluster."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """The key of an object in a cluster; the namespace is empty for a PriorityClass."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"
