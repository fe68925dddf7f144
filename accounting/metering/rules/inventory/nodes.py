"""Labels and capacity of a node at an instant, and the node objects that had its name."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from accounting.metering.rules.inventory.amd_partitions import sampled_partition
from accounting.metering.rules.inventory.divided_nodes import sampled_cards
from accounting.metering.rules.inventory.kube_state.visibility import (
    KubeState,
    node_shown,
)
from accounting.metering.rules.inventory.records import GpuRecord, NodeRecord
from accounting.metering.rules.units.gpu_units import NodeFacts

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class NodeLife:
    """One node object, from its first to its last sample, and the step of the last one.

    Attributes:
        is_over: a later scrape of kube-state did not show it.
    """

    first_ms: int
    last_ms: int
    step_ms: int
    is_over: bool

    @property
    def end_ms(self) -> int | None:
        """One step after its last sample; None while it exists."""
        return self.last_ms + self.step_ms if self.is_over else None


def node_lives(node: NodeRecord | None, state: KubeState) -> list[NodeLife]:
    """The node objects of one name, in order (rules.md N11).

    A name that is reported again within 1.5 steps, or before any scrape did not show it, was never
    absent.
    """
    if node is None or not node.spans:
        return []
    lives: list[NodeLife] = []
    shown = node_shown(node)
    first = node.spans[0].first_ms
    for span, following in pairwise(node.spans):
        if state.is_lacked(shown, span.last_ms, following.first_ms):
            lives.append(NodeLife(first, span.last_ms, span.step_ms, is_over=True))
            first = following.first_ms
    last = node.spans[-1]
    is_over = state.is_lacked(shown, last.last_ms)
    lives.append(NodeLife(first, last.last_ms, last.step_ms, is_over))
    return lives


def as_of(history: Sequence[tuple[int, Value]], instant_ms: int) -> Value | None:
    """The value at an instant; before the first entry, the first one (N24)."""
    if not history:
        return None
    i = bisect_right([item[0] for item in history], instant_ms)
    return history[max(0, i - 1)][1]


def node_facts(node: NodeRecord | None, instant_ms: int) -> NodeFacts:
    """Capacity and labels of a node at an instant."""
    if node is None:
        return NodeFacts()
    labels = as_of(node.labels, instant_ms) or {}
    if node.partitions:
        labels = labels | sampled_partition(node, instant_ms)
    if node.cards:
        labels = labels | sampled_cards(node)
    return NodeFacts(as_of(node.capacity, instant_ms) or {}, labels)


def model_in(gpu: GpuRecord, node: NodeRecord | None) -> str:
    """The model of a GPU by its node's labels, as for units; otherwise by its samples."""
    labels = node.labels if node is not None else []
    return (node_facts(node, labels[-1][0]).product if labels else "") or gpu.model
