"""What pods that hold GPUs cost per hour, at the price of their latest time (scheduling.md S12)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db import connection

from accounting.access.scope import Scope
from accounting.core.interval import Interval, to_ms, window_of
from accounting.core.money import Money
from accounting.core.rounding import half_even
from accounting.kit.reads.selection import Selection
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import PodHold
from accounting.metering.sql.states_sql import held
from accounting.usage.reads.relation.relation import relation

LOOK_BACK = timedelta(minutes=30)  # facts of the last windows may still be missing
PLACES = 6


def hourly_costs(
    scope: Scope, cluster: Cluster, uids: Collection[str], now: datetime
) -> Mapping[str, Money]:
    """Money per hour by uid of a pod: the GPUs that it holds, at the price of its latest time.

    Pods of teams that the person may not read, without a price, or without facts yet are left out.
    A pod whose time had several prices has their mean, weighted by time.
    """
    uid_of: dict[int, str] = {}
    gpus: dict[int, Fraction] = defaultdict(Fraction)
    holds = PodHold.objects.filter(
        pod__cluster=cluster, pod__uid__in=uids, ended_ms=None
    )
    for pod, uid, units, numerator, denominator in holds.values_list(
        *("pod_id", "pod__uid", "units", "share_numerator", "share_denominator")
    ):
        uid_of[pod] = uid
        gpus[pod] += Fraction(units * numerator, denominator)
    return {
        uid_of[pod]: Money(half_even(gpus[pod] * rate, PLACES), currency)
        for pod, (rate, currency) in _rates(scope, cluster, list(gpus), now).items()
    }


def _rates(
    scope: Scope, cluster: Cluster, pods: Collection[int], now: datetime
) -> Mapping[int, tuple[Fraction, str]]:
    """The mean price per GPU-hour of each pod that has one, with its currency."""
    if not pods:
        return {}
    end = window_of(to_ms(now)).start
    period = Interval.of(end - LOOK_BACK, end)
    chosen = relation(Selection(scope, period, {"cluster": (cluster.name,)}), ("pod",))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT u.pod_id, u.rate, u.currency, sum({held("u")})
            {chosen.tables}
            WHERE {chosen.condition} AND u.pod_id = ANY(%(pods)s) AND {held("u")} > 0
            GROUP BY u.pod_id, u.rate, u.currency
            """,  # built from this project's own constants
            chosen.parameters | {"pods": list(pods)},
        )
        rows: list[tuple[int, Decimal | None, str, Decimal]] = cursor.fetchall()
    times: dict[int, list[tuple[Decimal | None, str, int]]] = defaultdict(list)
    for pod, rate, currency, ms in rows:
        times[pod].append((rate, currency, int(ms)))
    found = {pod: _mean(of_pod) for pod, of_pod in times.items()}
    return {pod: rate for pod, rate in found.items() if rate is not None}


def _mean(
    times: Sequence[tuple[Decimal | None, str, int]],
) -> tuple[Fraction, str] | None:
    """None if some time has no price, or prices are in several currencies."""
    currencies = {currency for _, currency, _ in times}
    rates = [(Fraction(rate), ms) for rate, _, ms in times if rate is not None]
    if len(currencies) > 1 or len(rates) < len(times):
        return None
    total_ms = sum(ms for _, ms in rates)
    return sum(rate * ms for rate, ms in rates) / Fraction(total_ms), currencies.pop()
