"""A ledger of whole days: what teams held on each, written as rollups.

A day of a team is one row of `usage_day`, so that an amount of a test is exact: 1,000 ms for
each amount of 0.001 at the rate of 3,600 an hour.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db import connection

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Team
from accounting.core.interval import WINDOW_MS
from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.models.pod import Namespace, Workload
from accounting.metering.tasks.facts import partitions

RATE = 3600  # an hour: a second costs 1
FIRST = date(2026, 10, 1)
NOW = datetime(2026, 11, 20, 14, 35, tzinfo=UTC)
"""15:35 in Berlin."""


@dataclass
class DayLedger:
    """Writes days of one live cluster; bills are in EUR, days those of Berlin."""

    cluster: Cluster
    team: Team
    namespace: Namespace

    @classmethod
    def empty(cls) -> "DayLedger":
        """A ledger with the team Vision of Research, and no time."""
        cluster = Cluster.objects.create(name="north")
        Source.objects.create(cluster=cluster, name="exporters", kind="scrape")
        Billing.objects.create(
            currency="EUR",
            timezone="Europe/Berlin",
            valid_from=datetime(1970, 1, 1, tzinfo=UTC),
        )
        team = Team.objects.create(slug="vision", name="Vision", department="Research")
        space = Namespace.objects.create(cluster=cluster, name="vision-prod")
        return cls(cluster, team, space)

    def held(
        self,
        day: date,
        euros: int,
        *,
        team: Team | None = None,
        workload: str = "train",
        model: str = "NVIDIA-L40S",
        rate: int | None = RATE,
        currency: str = "EUR",
    ) -> None:
        """Time of a team on a day: `euros` seconds, at a rate that makes them euros."""
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        partitions.ensure([partitions.DAYS], at, at + timedelta(days=1))
        work, _ = Workload.objects.get_or_create(
            cluster=self.cluster, namespace=self.namespace, kind="Job", name=workload
        )
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO usage_day (cluster_id, billing_on, namespace_id, team_id,
                    workload_id, model, rate, gpu_rate, currency, idle_ms)
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
                """,
                [
                    self.cluster.pk,
                    day,
                    self.namespace.pk,
                    (team or self.team).pk,
                    work.pk,
                    model,
                    rate,
                    rate,
                    "" if rate is None else currency,
                    euros * 1000,
                ],
            )

    def read(self, day: date, state: str = "done", **more: object) -> IngestWindow:
        """The window at noon of a day, with data unless told otherwise."""
        return IngestWindow.objects.create(
            cluster=self.cluster,
            window_start=datetime(day.year, day.month, day.day, 12, tzinfo=UTC),
            state=state,
            **{"rows": 8} | more,
        )

    def read_to(self, until: datetime) -> None:
        """The newest window ends here."""
        IngestWindow.objects.create(
            cluster=self.cluster,
            window_start=until - timedelta(milliseconds=WINDOW_MS),
            state="done",
            rows=8,
        )

    def steady(self, first: date, after: date, euros: int) -> None:
        """The same amount on each day, all read."""
        day = first
        while day < after:
            self.held(day, euros)
            self.read(day)
            day += timedelta(days=1)
