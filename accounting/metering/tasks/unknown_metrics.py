"""Metric names that are not in the catalogue, and the time that they may affect.

A file and a scrape contain all names; Prometheus is queried for the names of the catalogue, so
others need a separate query. At stake is the held time without any metric on the nodes of such a
name's series, because a metric under an unknown name is not used.
"""

from collections.abc import Collection, Iterable, Mapping

import structlog

from accounting.core.interval import DAY_MS, HOUR_MS, Interval, to_instant
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.data_health.unmeasured import unmeasured_ms
from accounting.metering.sources.errors import SourceError
from accounting.metering.tasks.data_issues import checks, record
from accounting.metering.tasks.data_issues.events import NamesShown
from accounting.metering.tasks.data_issues.of_sources import UNKNOWN_METRIC
from accounting.metering.tasks.reading.cluster_reader import ClusterReader

log = structlog.get_logger(__name__)
MOST = 100  # names of one period; more would add no information


def look_for_unknown(cluster: Cluster, reader: ClusterReader, period: Interval) -> None:
    """Report names that look like a GPU metric in a period and are not in the catalogue.

    Issues are resolved after a day of data without them. If a source does not respond to this
    query, windows do not wait: the query is repeated with the next window.
    """
    if not reader.is_asked:
        return
    try:
        found = reader.unknown_names(period)
    except SourceError as error:
        log.warning("names_not_asked", cluster=cluster.name, error=str(error))
        return
    record.resolve_older(
        cluster.pk, (UNKNOWN_METRIC,), to_instant(period.start_ms - DAY_MS)
    )
    names = sorted(found)[:MOST]
    hour = hours_of(period)
    lost = unmeasured_ms(cluster.pk, hour) if names else {}
    nodes = _nodes(cluster, reader, names, hour) if lost else {}
    where = {name: found[name] for name in names}
    checks.run(NamesShown(cluster, where, nodes, lost, period))


def _nodes(
    cluster: Cluster, reader: ClusterReader, names: Iterable[str], period: Interval
) -> Mapping[str, Collection[str]]:
    try:
        return reader.nodes_of_names(list(names), period)
    except SourceError as error:
        log.warning("nodes_not_asked", cluster=cluster.name, error=str(error))
        return {}


def record_unknown(
    cluster: Cluster,
    where: str,
    nodes_of: Mapping[str, Collection[str]],
    period: Interval,
    weighed: Interval,
) -> None:
    """Store the unknown names of a source, with the time at stake.

    Args:
        cluster: of the source.
        where: the source, as text.
        nodes_of: the nodes of its series, by name.
        period: when it was seen.
        weighed: the period whose facts may lack it.
    """
    lost = unmeasured_ms(cluster.pk, weighed) if nodes_of else {}
    shown = dict.fromkeys(sorted(nodes_of)[:MOST], where)
    checks.run(NamesShown(cluster, shown, nodes_of, lost, period))


def hours_of(period: Interval) -> Interval:
    """The UTC hours that a period overlaps."""
    end = period.end_ms + -period.end_ms % HOUR_MS
    return Interval(period.start_ms - period.start_ms % HOUR_MS, end)
