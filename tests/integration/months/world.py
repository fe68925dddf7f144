"""A world of a golden case, written into the tables that a booking reads."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db import connection

from accounting.access.models.billing import Billing
from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import (
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Namespace, Workload
from accounting.metering.models.usage import UsageDay
from accounting.months.models.entry import Entry
from accounting.months.models.team_quota import TeamQuota
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import UnitPrice
from accounting.prices.rules.price_match import PricedTime, match_price, own_price
from tests.integration.months import world_windows

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
World = Mapping[str, Any]


def write(world: World, *, is_rolled_up: bool = False) -> None:
    """Replace everything that is known, but not what was closed.

    Args:
        world: of a golden case.
        is_rolled_up: its facts are windows that the product rolls up; else they are days.
    """
    for known in (_cluster, _team, _workload):
        known.cache_clear()  # of another test, whose rows are gone
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_day")
    for table in (Entry, UnitPrice, ConversionRate, TeamQuota, Billing):
        table.objects.all().delete()
    _billing(world["billing"])
    with billing_remembered():
        _the_rest(world, is_rolled_up=is_rolled_up)


def _the_rest(world: World, *, is_rolled_up: bool) -> None:
    """What depends on the billing settings."""
    UnitPrice.objects.bulk_create(map(_price, world["prices"]))
    ConversionRate.objects.bulk_create(
        ConversionRate(
            from_currency=rate["from"],
            to_currency=rate["to"],
            on=rate["on"],
            rate=Decimal(rate["rate"]),
        )
        for rate in world["conversions"]
    )
    for quota in world["quotas"]:
        TeamQuota.objects.create(
            cluster=_cluster(quota["cluster"]),
            team=_team(quota["team"]),
            milli_gpus=quota["milli_gpus"],
            valid_from=_instant(quota["valid_from"]),
        )
    for entry in world["entries"]:
        _entry(entry)
    if is_rolled_up:
        world_windows.write(world["facts"], [_place(fact) for fact in world["facts"]])
        return
    prices = list(UnitPrice.objects.all())
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for fact in world["facts"]:
        _add(rows, fact, prices)
    UsageDay.objects.bulk_create(UsageDay(**row) for row in rows.values())


def _billing(rows: list[dict[str, Any]]) -> None:
    """A row of a month begins where the month before ends in its own zone."""
    zone = "UTC"
    for row in rows:
        begins = LONG_AGO
        if row["month"]:
            first = date.fromisoformat(f"{row['month']}-01")
            begins = datetime.combine(first, time(), ZoneInfo(zone)).astimezone(UTC)
        zone = row["timezone"]
        Billing.objects.create(
            currency=row["currency"], timezone=zone, valid_from=begins
        )


def _price(price: dict[str, Any]) -> UnitPrice:
    assert price["kind"] == "rate"
    return UnitPrice(
        model=price["model"],
        profile=price["profile"],
        lifecycle=price["lifecycle"],
        cluster=_cluster(price["cluster"]) if price["cluster"] else None,
        tier=price["tier"],
        currency=price["currency"],
        rate_per_gpu_hour=Decimal(price["per_gpu_hour"]),
        valid_from=_instant(price["valid_from"]),
        valid_to=_instant(price["valid_to"]) if price["valid_to"] else None,
    )


def _entry(entry: dict[str, Any]) -> None:
    Entry.objects.create(
        number=entry["id"],
        kind=entry["kind"],
        team=_team(entry["team"]),
        billing_on=entry["billing_on"],
        amount=Decimal(entry["amount"]),
        currency="EUR",
        reason="agreed in the monthly review",
        author=get_user_model().objects.get_or_create(username="finance")[0],
    )


def _place(fact: dict[str, Any]) -> tuple[Cluster, Workload | None]:
    """The cluster of a fact, and the workload that held it; its team exists from now on."""
    cluster = _cluster(fact["cluster"])
    if not fact["namespace"]:
        return cluster, None
    if fact["team"]:
        _team(fact["team"])
    names = fact["namespace"], fact["workload_kind"], fact["workload"]
    return cluster, _workload(cluster, *names)


def _add(
    rows: dict[tuple[Any, ...], dict[str, Any]],
    fact: dict[str, Any],
    prices: list[UnitPrice],
) -> None:
    """Sum a fact into its day's row, at the prices of its window as the rollup would."""
    at, (cluster, workload) = _instant(fact["at"]), _place(fact)
    row: dict[str, Any] = {
        "cluster_id": cluster.pk,
        "billing_on": billing_day(at),
        "model": fact["model"],
        "lifecycle": fact["lifecycle"],
        "tier": fact["tier"],
        "workload_type": fact["workload_type"],
    }
    if workload:
        row |= {"namespace_id": workload.namespace_id, "workload_id": workload.pk}
        row["team_id"] = _team(fact["team"]).pk if fact["team"] else 0
    profile = fact["profile"] if fact["namespace"] else ""
    when = PricedTime(
        fact["model"], cluster.pk, fact["lifecycle"], at, profile, fact["tier"]
    )
    line, own = match_price(prices, when), own_price(prices, when)
    row["price_id"] = line.pk if line else 0
    row["gpu_price_id"] = own.pk if own else 0
    kept = rows.setdefault(tuple(row.values()), row)
    kept |= {
        "rate": line.rate_per_gpu_hour if line else None,
        "gpu_rate": own.rate_per_gpu_hour if own else None,
        "currency": line.currency if line else "",
    }
    for state, milliseconds in fact["ms"].items():
        name = f"{state}_ms"
        kept[name] = kept.get(name, 0) + milliseconds


@cache
def _cluster(name: str) -> Cluster:
    return Cluster.objects.get_or_create(name=name)[0]


@cache
def _team(slug: str) -> Team:
    return Team.objects.get_or_create(slug=slug, defaults={"name": slug})[0]


@cache
def _workload(cluster: Cluster, namespace: str, kind: str, name: str) -> Workload:
    space, _ = Namespace.objects.get_or_create(cluster=cluster, name=namespace)
    return Workload.objects.get_or_create(
        cluster=cluster, namespace=space, kind=kind, name=name
    )[0]


def _instant(text: str) -> datetime:
    if len(text) == len("2026-10-01"):
        return midnight(date.fromisoformat(text))
    return datetime.fromisoformat(text)
