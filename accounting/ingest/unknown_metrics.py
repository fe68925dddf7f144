"""Names of metrics that no catalogue knows, and what time they may have cost.

A file and a scrape show all their names; Prometheus is asked for those of the catalogue, so
those outside it need a question of their own. At stake is the held time without any metric
on the nodes that such a name is shown of: a metric of another name reads as none.
"""

from collections.abc import Collection, Iterable, Mapping

import structlog

from accounting.domain.core.interval import DAY_MS, HOUR_MS, Interval, to_instant
from accounting.ingest.data_issues import checks, record
from accounting.ingest.data_issues.events import NamesShown
from accounting.ingest.data_issues.of_sources import UNKNOWN_METRIC
from accounting.ingest.reading.cluster_reader import ClusterReader
from accounting.models import Cluster
from accounting.queries.data_health.unmeasured import unmeasured_ms
from accounting.sources.errors import SourceError

log = structlog.get_logger(__name__)
MOST = 100  # names of one period; more say nothing more


def look_for_unknown(cluster: Cluster, reader: ClusterReader, period: Interval) -> None:
    """Name what looks like a GPU's metric in a period and is in no table.

    What a day of data has passed without is resolved. A source that does not answer this
    question keeps no window waiting: its next window is asked again.
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
    """Keep the names that a source showed, with what is at stake.

    Args:
        cluster: whose source.
        where: the source, in words.
        nodes_of: by name, the nodes that it is shown of.
        period: when it was seen.
        weighed: the facts that may lack it.
    """
    lost = unmeasured_ms(cluster.pk, weighed) if nodes_of else {}
    shown = dict.fromkeys(sorted(nodes_of)[:MOST], where)
    checks.run(NamesShown(cluster, shown, nodes_of, lost, period))


def hours_of(period: Interval) -> Interval:
    """The UTC hours that a period touches."""
    end = period.end_ms + -period.end_ms % HOUR_MS
    return Interval(period.start_ms - period.start_ms % HOUR_MS, end)
