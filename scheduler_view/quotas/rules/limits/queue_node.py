"""One resource of one queue of Kueue, Volcano or KAI, as a node of the tree of queues."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from accounting.metering.rules.inventory.scheduler_queues import UNLIMITED

Manifest = Mapping[str, Any]
Amount = Fraction | str | None
"""Units; `UNLIMITED`; None if it is not set or not reported."""


class QueueName(NamedTuple):
    """The kind in stored rows, the namespace (empty if cluster-wide) and the name of a queue."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class QueueNode:
    """One resource of one queue.

    Attributes:
        parent: the queue or cohort above it; None at the top.
        flavor: of Kueue; empty otherwise.
        resource: `nvidia.com/gpu`; empty for GPUs of any kind, and for a queue that only passes
            work on.
        quota: guaranteed units: nominal (Kueue), deserved (Volcano), quota (KAI).
        most: what it may use with what it borrows: capability (Volcano), limit (KAI).
        may_borrow, may_lend: above and of its quota (Kueue).
        used: as its scheduler reports.
        waiting: workloads (Kueue), pod groups (Volcano) that are not admitted.
        asked: units that are not let in (KAI).
        stopped: why it lets nothing in, as a sentence; empty if it does.
        is_lent_from: its unused quota goes to others of its tree.
    """

    name: QueueName
    parent: QueueName | None = None
    flavor: str = ""
    resource: str = ""
    quota: Amount = None
    most: Amount = None
    may_borrow: Amount = None
    may_lend: Amount = None
    used: Fraction | None = None
    waiting: int | None = None
    asked: Fraction | None = None
    stopped: str = ""
    is_lent_from: bool = True

    @property
    def borrowed(self) -> Fraction | None:
        """Units that it uses above its quota; None if not reported."""
        if self.used is None:
            return None
        if self.quota == UNLIMITED:
            return Fraction(0)
        return max(Fraction(0), self.used - _number(self.quota))

    @property
    def unused(self) -> Fraction | None:
        """Units of its quota that it does not use and may lend; None if not reported."""
        if self.left is None or not isinstance(self.may_lend, Fraction):
            return self.left
        return min(self.left, self.may_lend)

    @property
    def left(self) -> Fraction | None:
        """Units of its quota that it does not use; 0 without a limit; None if not reported."""
        if self.used is None or self.quota == UNLIMITED:
            return None if self.used is None else Fraction(0)
        return max(Fraction(0), _number(self.quota) - self.used)

    @property
    def waits(self) -> bool:
        """True if work waits in it."""
        return bool(self.waiting) or bool(self.asked)


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A node with its depth: 0 at the top."""

    depth: int
    node: QueueNode


def in_order(nodes: Iterable[QueueNode]) -> list[TreeLine]:
    """All nodes, each below its parent, by name; what a circle of parents holds comes last."""
    by_parent: dict[QueueName | None, dict[QueueName, list[QueueNode]]] = {}
    all_nodes = list(nodes)
    names = {one.name for one in all_nodes}
    for one in all_nodes:
        above = one.parent if one.parent in names else None
        by_parent.setdefault(above, {}).setdefault(one.name, []).append(one)
    found: list[TreeLine] = []
    seen: set[QueueName] = set()
    next_ones = _below(by_parent, None, 0)
    while next_ones:  # no recursion: nothing limits the depth of a tree
        above, name, depth = next_ones.pop()
        if name in seen:
            continue
        seen.add(name)
        own = by_parent[above][name]
        found.extend(TreeLine(depth, one) for one in sorted(own, key=_part))
        next_ones += _below(by_parent, name, depth + 1)
    found.extend(TreeLine(0, one) for one in all_nodes if one.name not in seen)
    return found


def roots(nodes: Sequence[QueueNode]) -> dict[QueueName, QueueName]:
    """The top of the tree of each queue; of a circle, its first name."""
    parents = {one.name: one.parent for one in nodes}
    found: dict[QueueName, QueueName] = {}
    for name in parents:
        path: list[QueueName] = []
        on_path: set[QueueName] = set()
        here = name
        while (above := parents.get(here)) is not None:
            if here in found or here in on_path:
                break
            path.append(here)
            on_path.add(here)
            here = above
        if here in on_path:
            here = min(path[path.index(here) :])
        top = found.get(here, here)
        found |= dict.fromkeys((*path, name), top)
    return found


def _below(
    by_parent: Mapping[QueueName | None, Iterable[QueueName]],
    above: QueueName | None,
    depth: int,
) -> list[tuple[QueueName | None, QueueName, int]]:
    """The queues of a parent, the first one last."""
    names = sorted(by_parent.get(above, ()), reverse=True)
    return [(above, name, depth) for name in names]


def _part(node: QueueNode) -> tuple[str, str]:
    return node.flavor, node.resource


def _number(value: Amount) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(0)
