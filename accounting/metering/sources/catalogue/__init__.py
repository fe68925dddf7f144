"""Metric names, scales and label spellings of every exporter and version: one table.

A name that is not in it is never summed; names that look like GPU metrics are listed in data
health. `docs/sources.md` shows this table; a test compares them.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from accounting.metering.sources.catalogue import nvidia, others
from accounting.metering.sources.catalogue.aliases import aliases_of, resembled
from accounting.metering.sources.catalogue.gpu_model_names import normal_model
from accounting.metering.sources.catalogue.labels import (
    LONGEST_NAME,
    NODE_LABELS,
    amd_partition,
    gpu_key,
    node_of,
    odd_label,
    overlong_label,
    scraper_of,
    workload_labels,
)
from accounting.metering.sources.catalogue.metric import (
    BLANK,
    BLANK_32,
    PRESENCE,
    SCALES,
    Metric,
    Table,
)
from accounting.metering.sources.catalogue.node_labels import CLOUDS, lifecycle_of
from accounting.metering.sources.catalogue.queues import QUEUE_METRICS, queue_meaning
from accounting.metering.sources.catalogue.reserved import (
    KUBE_METRICS,
    POD_REASON,
    is_reserved,
)

EXPORTER_METRICS: Table = {**nvidia.METRICS, **others.AMD, **others.GAUDI}
KNOWN_METRICS: Table = {**nvidia.KNOWN, **others.AMD_KNOWN, **others.GAUDI_KNOWN}
ALIASES = aliases_of({**EXPORTER_METRICS, **KNOWN_METRICS})
GPU_LOOKING = "(DCGM_|dcgm_|nvidia_|gpu_|amd_gpu|habanalabs_|xpum_).*"
NO_UNKNOWN = (
    # with GPU_LOOKING: a query for names outside the catalogue, as an anchored RE2 expression
    "|".join(
        [
            *sorted({**EXPORTER_METRICS, **KNOWN_METRICS}),
            f"({nvidia.FAMILIES.pattern}).*",
        ]
    )
)
_GPU_LOOKING = re.compile(GPU_LOOKING)
_PRESENCE = Metric(PRESENCE)


def known_name(name: str) -> str:
    """The name of the catalogue that a source's name is, also as collectors rewrite it."""
    return ALIASES.get(name, name)


def exporter_names() -> list[str]:
    """The names of the exporters' metrics that are read, and their aliases: for a query."""
    every = [alias for alias, name in ALIASES.items() if name in EXPORTER_METRICS]
    return sorted({*EXPORTER_METRICS, *every})


def resembled_name(name: str) -> str:
    """The known GPU metric that an unknown name resembles; "" if it resembles none."""
    return resembled(name, {**EXPORTER_METRICS, **KNOWN_METRICS})


@lru_cache(maxsize=10_000)
def is_kept(name: str) -> bool:
    """True for a name whose samples the ledger may need."""
    name = known_name(name)
    return (
        name in KUBE_METRICS
        or name in QUEUE_METRICS
        or name in EXPORTER_METRICS
        or name in KNOWN_METRICS
        or name == "up"
        or (name.startswith(nvidia.PREFIXES) and len(name) <= LONGEST_NAME)
    )


def is_unknown_gpu_metric(name: str) -> bool:
    """True for a name that looks like a GPU metric and is not in the catalogue: for data health."""
    name = known_name(name)
    if not _GPU_LOOKING.match(name):
        return False
    is_known = name in EXPORTER_METRICS or name in KNOWN_METRICS
    return not is_known and not nvidia.FAMILIES.match(name)


def metric_of(name: str, scales: Mapping[str, str]) -> Metric:
    """The canonical metric of a kept name, with the scale that its source declares."""
    known = EXPORTER_METRICS.get(name)
    if known is None:
        return Metric(name) if name in KUBE_METRICS or name == "up" else _PRESENCE
    if name in scales:
        return Metric(known.id, SCALES[scales[name]], known.blank)
    return known


def gpu_metric_of(
    name: str, scales: Mapping[str, str], labels: Mapping[str, str]
) -> Metric:
    """`metric_of` an exporter's series; a partition without its own measurement reports 0."""
    if name in others.AMD_OF_FIRST_PARTITION:
        partition, _ = amd_partition(labels)
        if partition not in {"", "0"}:
            return _PRESENCE
    return metric_of(name, scales)


__all__ = [
    "ALIASES",
    "BLANK",
    "BLANK_32",
    "CLOUDS",
    "EXPORTER_METRICS",
    "GPU_LOOKING",
    "KNOWN_METRICS",
    "KUBE_METRICS",
    "NODE_LABELS",
    "NO_UNKNOWN",
    "POD_REASON",
    "QUEUE_METRICS",
    "SCALES",
    "Metric",
    "exporter_names",
    "gpu_key",
    "gpu_metric_of",
    "is_kept",
    "is_reserved",
    "is_unknown_gpu_metric",
    "known_name",
    "lifecycle_of",
    "metric_of",
    "node_of",
    "normal_model",
    "odd_label",
    "overlong_label",
    "queue_meaning",
    "resembled_name",
    "scraper_of",
    "workload_labels",
]
