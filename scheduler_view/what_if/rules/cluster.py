"""The simulated cluster: what is free on each node, as arrays over nodes and GPUs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler_view.what_if.rules.request import MILLI, ReplayRequest

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReplayNode:
    """A node: its CPU in thousandths, its GPUs and their model."""

    name: str
    cpu_milli: int
    gpus: int
    model: str = ""


class ReplayCluster:
    """What is free now; nodes are numbered in the order of their names.

    Attributes:
        nodes: sorted by name.
        cpu_free: thousandths of CPUs, by node.
        gpu_free: thousandths of each GPU, by node and GPU; 0 where a node has no such GPU.
        gpu_count: GPUs, by node.
        pods_by_size: pods with GPUs, by node and size class (`ReplayRequest.size`).
        is_open: whether a node takes pods, by node; those on it stay.
        changed_at: the number of the last change of each node.
        changes: the number of changes so far.
    """

    def __init__(self, nodes: Iterable[ReplayNode]) -> None:
        """Everything is free.

        Raises:
            ValueError: if two nodes have one name.
        """
        self.nodes: Sequence[ReplayNode] = sorted(nodes, key=lambda node: node.name)
        if len({node.name for node in self.nodes}) < len(self.nodes):
            raise ValueError("two nodes have the same name")
        self.gpu_count = np.array([node.gpus for node in self.nodes], dtype=np.int64)
        widest = int(self.gpu_count.max(initial=0))
        has_gpu = np.arange(widest) < self.gpu_count[:, None]
        self.gpu_free: Integers = has_gpu.astype(np.int64) * MILLI
        self.cpu_free = np.array([n.cpu_milli for n in self.nodes], dtype=np.int64)
        self.pods_by_size = np.zeros((len(self.nodes), widest + 1), dtype=np.int64)
        self.models = sorted({node.model for node in self.nodes})
        number = {model: at for at, model in enumerate(self.models)}
        self.model_of = np.array([number[n.model] for n in self.nodes], dtype=np.int64)
        self.is_open = np.ones(len(self.nodes), dtype=np.bool_)
        self.changed_at = np.zeros(len(self.nodes), dtype=np.int64)
        self.changes = 0

    @property
    def total_milli(self) -> int:
        """Thousandths of all GPUs, free or not."""
        return int(self.gpu_count.sum()) * MILLI

    def accepts(self, request: ReplayRequest) -> Booleans:
        """By node: whether its GPU model is one that the request accepts."""
        if not request.gpus or not request.models:
            return np.ones(len(self.nodes), dtype=np.bool_)
        wanted = np.array([m in request.models for m in self.models], dtype=np.bool_)
        return wanted[self.model_of]

    def fits(self, request: ReplayRequest, nodes: Integers) -> Booleans:
        """For these nodes: whether they are open and CPU and GPUs are free; not their models."""
        enough = self.is_open[nodes] & (self.cpu_free[nodes] >= request.cpu_milli)
        if request.gpus:
            large = self.gpu_free[nodes] >= request.gpu_milli
            enough &= large.sum(axis=1) >= request.gpus
        return enough

    def take(
        self, request: ReplayRequest, node: int, gpus: Sequence[int], sign: int = 1
    ) -> None:
        """Let a pod have these GPUs of a node; with `sign` -1 it gives them back."""
        self.cpu_free[node] -= sign * request.cpu_milli
        for gpu in gpus:
            self.gpu_free[node, gpu] -= sign * request.gpu_milli
        if request.gpus:
            self.pods_by_size[node, request.size] += sign
        self._changed(node)

    def set_open(self, node: int, *, is_open: bool) -> None:
        """Open or close a node for further pods."""
        self.is_open[node] = is_open
        self._changed(node)

    def _changed(self, node: int) -> None:
        self.changes += 1
        self.changed_at[node] = self.changes
