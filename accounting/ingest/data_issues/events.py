"""What checks look at: something happened that may show a fault in the data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounting.domain.attribution.attribute import WindowLedger
from accounting.domain.core.interval import Interval
from accounting.domain.samples.series import Reading
from accounting.ingest.evidence.observe import State
from accounting.models import Cluster, Source
from accounting.sources.errors import SourceError
from accounting.sources.scrape import Scraped


@dataclass(frozen=True, slots=True)
class WindowsComputed:
    """Windows of a period were computed from what their sources answered."""

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
    """The windows of a period wait: their source gave no answer."""

    cluster: Cluster
    period: Interval
    error: SourceError


@dataclass(frozen=True, slots=True)
class SourceScraped:
    """The targets of a source were read, at a time in milliseconds since 1970."""

    cluster: Cluster
    source: Source
    result: Scraped
    at_ms: int


@dataclass(frozen=True, slots=True)
class SamplesLate:
    """Samples came of a time whose windows, up to the newest, were computed without them."""

    cluster: Cluster
    source: Source
    sampled: Interval
    newest: datetime


@dataclass(frozen=True, slots=True)
class NamesShown:
    """Sources showed names of metrics that no catalogue has.

    Attributes:
        where: name -> the source that showed it, in words.
        nodes: name -> the nodes that it was shown of.
        lost_ms: node -> held time without any metric.
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
