"""What a person set up of a fleet's source and cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setup:
    """How the samples of a fleet are to be read.

    Attributes:
        interval: seconds between scrapes, where the source declares them (N4).
        scales: ratio or percent, by the metric names that the source declares (N8).
        jobs: who may speak of GPUs and pods; empty where nobody says (N40).
        retired: milliseconds since 1970 of the end of the cluster (N38).
    """

    interval: int | None = None
    scales: Mapping[str, str] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()
    retired: int | None = None


PLAIN = Setup()
