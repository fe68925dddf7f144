"""A cluster whose only source is a stand-in that does what a test says."""

from dataclasses import dataclass

from django.db.models.functions import Now

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import HOUR_ZERO
from tests.integration.metering.sources.replay import Script

HOUR = Interval(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + HOUR_MS)
COUNT = HOUR_MS // WINDOW_MS


@dataclass
class Source:
    """A cluster whose only source answers as `script` says, which may change."""

    cluster: Cluster
    script: Script
    address: str

    def read(self) -> int:
        """Do all that is due; returns how many windows failed."""
        done = ingest_all(self.cluster, newest_first=False)
        roll_up_dirty_hours(self.cluster.pk)
        return done.failed


def make_due(cluster: Cluster) -> None:
    """The hour is asked for."""
    schedule.mark(cluster.pk, [HOUR], "asked", create=True)


def let_time_pass() -> None:
    """As long as failed windows wait."""
    IngestWindow.objects.exclude(next_attempt_at=None).update(next_attempt_at=Now())
