"""Names of metrics that no catalogue knows, in sources that are asked and not read whole.

A file and a scrape show all their names; Prometheus is asked for those of the catalogue, so
those outside it need a question of their own.
"""

import structlog

from accounting.actions import issues
from accounting.actions.reading import ClusterReader
from accounting.domain.issue import Issue
from accounting.domain.period import DAY_MS, Period, to_instant
from accounting.models import Cluster
from accounting.sources.errors import SourceError

log = structlog.get_logger(__name__)
CODE = "unknown_metric"
MOST = 100  # names of one period; more say nothing more


def look_for_unknown(cluster: Cluster, reader: ClusterReader, period: Period) -> None:
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
    issues.resolve_older(cluster.pk, (CODE,), to_instant(period.start_ms - DAY_MS))
    issues.record(
        cluster.pk,
        [
            Issue(
                code=CODE,
                subject=name,
                message=f"{source} has a metric that no catalogue knows; it is left out.",
                first_ms=period.start_ms,
                last_ms=period.end_ms,
                severity="info",
            )
            for name, source in sorted(found.items())[:MOST]
        ],
    )
