"""Events that may reveal a fault in the data; checks use them as input."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounting.core.interval import Interval
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.rules.attribution.attribute import WindowLedger
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.errors import SourceError
from accounting.metering.sources.scrape import Scraped
from accounting.metering.tasks.evidence.observe import State


@dataclass(frozen=True, slots=True)
class WindowsComputed:
    """Windows of a period were computed from the responses of their sources."""

    ledgers: Sequence[WindowLedger]
    readings: Sequence[Reading]
    state: State
    period: Interval


@dataclass(frozen=True, slots=True)
class HoursRolledUp:
    """Hours of a cluster have new facts, teams or prices."""

    cluster_id: int


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """The windows of a period wait: their source did not respond."""

    cluster: Cluster
    period: Interval
    error: SourceError


@dataclass(frozen=True, slots=True)
class SourceScraped:
    """The targets of a source were scraped, at a time in milliseconds since 1970."""

    cluster: Cluster
    source: Source
    result: Scraped
    at_ms: int


@dataclass(frozen=True, slots=True)
class SamplesLate:
    """Samples arrived for windows, up to the newest, that were computed without them."""

    cluster: Cluster
    source: Source
    sampled: Interval
    newest: datetime


@dataclass(frozen=True, slots=True)
class NamesShown:
    """Sources reported metric names that are not in the catalogue.

    Attributes:
        where: the source by name, as text.
        nodes: the nodes of its series, by name.
        lost_ms: held time without any metric, by node.
    """

    cluster: Cluster
    where: Mapping[str, str]
    nodes: Mapping[str, Collection[str]]
    lost_ms: Mapping[str, int]
    period: Interval


Event = (
    WindowsComputed
    | HoursRolledUp
    | SourceFailed
    | SourceScraped
    | SamplesLate
    | NamesShown
)
