"""Nodes and pods from rows of the OpenB trace, or of files with the same columns."""

from collections.abc import Iterable, Mapping

from scheduler_view.what_if.rules.cluster import ReplayNode
from scheduler_view.what_if.rules.request import MILLI, ReplayPod, ReplayRequest

Row = Mapping[str, str]


def node_of(row: Row) -> ReplayNode:
    """One node, from `sn`, `cpu_milli`, `gpu` and `model`.

    Raises:
        KeyError: if a column is missing.
        ValueError: if a number cannot be read.
    """
    return ReplayNode(row["sn"], int(row["cpu_milli"]), int(row["gpu"]), row["model"])


def gpu_nodes(rows: Iterable[Row]) -> list[ReplayNode]:
    """The nodes with GPUs; others are not simulated (S34). Errors as of `node_of`."""
    return [node for node in map(node_of, rows) if node.gpus]


def pod_of(row: Row) -> ReplayPod:
    """One pod, from `name`, `cpu_milli`, `num_gpu`, `gpu_milli` and `gpu_spec` (`A|B`).

    `gpu_milli` is a part of one GPU and does not count otherwise. Published files may have no
    `gpu_spec`: their pods accept every model.

    Raises:
        KeyError: if a column is missing.
        ValueError: if a number cannot be read or is out of range.
    """
    gpus = int(row["num_gpu"])
    return ReplayPod(
        row["name"],
        ReplayRequest(
            cpu_milli=int(row["cpu_milli"]),
            gpus=gpus,
            gpu_milli=int(row["gpu_milli"]) if gpus == 1 else MILLI,
            models=tuple(sorted({m for m in row.get("gpu_spec", "").split("|") if m})),
        ),
    )
