"""Billing days of usage, written straight into the rollup: what a booking reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Namespace, Workload
from accounting.metering.models.usage import UsageDay
from accounting.metering.tasks.facts import partitions
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import store
from accounting.prices.models.price import UnitPrice

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
H100 = "NVIDIA-H100-80GB-HBM3"


@dataclass
class Days:
    """Usage of one cluster, at the prices that were set here."""

    prices: dict[str, UnitPrice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        year = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC)
        partitions.ensure([partitions.DAYS], *year)
        Billing.objects.create(
            currency="EUR", timezone="Europe/Berlin", valid_from=LONG_AGO
        )

    def price(self, model: str, rate: str) -> None:
        """The rate of a model; again: another rate for what is used from now on."""
        UnitPrice.objects.filter(model=model).delete()
        self.prices[model] = UnitPrice.objects.create(
            model=model,
            currency="EUR",
            rate_per_gpu_hour=Decimal(rate),
            valid_from=LONG_AGO,
        )

    def use(
        self,
        team: str,
        on: date,
        ms: int,
        *,
        model: str = H100,
        state: str = "busy",
        workload: str = "train",
    ) -> None:
        """A team's time on a day; team "": nobody held it."""
        cluster, _ = Cluster.objects.get_or_create(name="north")
        price = self.prices.get(model)
        ids = {"namespace_id": 0, "team_id": 0, "workload_id": 0}
        if team:
            ids = self._ids(cluster, team, workload)
        UsageDay.objects.create(
            cluster_id=cluster.pk,
            billing_on=on,
            model=model,
            lifecycle="on-demand",
            workload_type="training" if team else "",
            price_id=price.pk if price else 0,
            gpu_price_id=price.pk if price else 0,
            rate=price.rate_per_gpu_hour if price else None,
            gpu_rate=price.rate_per_gpu_hour if price else None,
            currency="EUR" if price else "",
            **ids,
            **{f"{state}_ms": ms},
        )

    def _ids(self, cluster: Cluster, team: str, workload: str) -> dict[str, int]:
        payer, _ = Team.objects.get_or_create(slug=team, defaults={"name": team})
        space, _ = Namespace.objects.get_or_create(cluster=cluster, name="ml")
        job, _ = Workload.objects.get_or_create(
            cluster=cluster, namespace=space, kind="Job", name=workload
        )
        return {"namespace_id": space.pk, "team_id": payer.pk, "workload_id": job.pk}

    def forget(self) -> None:
        """No usage at all."""
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM usage_day")

    def enter(self, number: str, team: str, on: date, amount: str) -> None:
        """A credit or adjustment."""
        payer, _ = Team.objects.get_or_create(slug=team, defaults={"name": team})
        author, _ = get_user_model().objects.get_or_create(username="finance")
        Entry.objects.create(
            number=number,
            kind="credit" if amount.startswith("-") else "adjustment",
            team=payer,
            billing_on=on,
            amount=Decimal(amount),
            currency="EUR",
            reason="agreed in the monthly review",
            author=author,
        )


def lines_of(revision: PeriodRevision) -> list[str]:
    """The texts of a revision's lines, in the order of the hash."""
    table = "charge_line" if revision.is_closed else "running_line"
    return list(store.line_texts(table, revision))


def payables(revision: PeriodRevision) -> dict[str, str]:
    """What each team pays."""
    found = revision.statements.values_list("team", "payable")
    return {team: f"{payable:.2f}" for team, payable in found}


def charges(revision: PeriodRevision, kinds: Sequence[str] = ("usage",)) -> list[str]:
    """The charges of lines of some kinds, in the order of their workloads."""
    lines = revision.lines if revision.is_closed else revision.running_lines
    found = lines.filter(kind__in=kinds).order_by("team", "workload", "model", "charge")
    return [str(charge) for charge in found.values_list("charge", flat=True)]
