"""What pods that hold GPUs cost per hour, at the price of their latest time (scheduling.md S12)."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from django.db import connection

from accounting.access import Scope
from accounting.domain.core.interval import Interval, to_ms, window_of
from accounting.domain.core.money import Money
from accounting.domain.core.rounding import half_even
from accounting.models import Cluster, PodHold
from accounting.queries.relation.relation import relation
from accounting.queries.selection import Selection
from accounting.rating.states_sql import held

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
            SELECT u.pod_id, sum({held("u")}), sum({held("u")} * u.rate), max(u.currency)
            {chosen.tables}
            WHERE {chosen.condition} AND u.pod_id = ANY(%(pods)s)
            GROUP BY u.pod_id
            HAVING bool_and(u.rate IS NOT NULL) AND min(u.currency) = max(u.currency)
               AND sum({held("u")}) > 0
            """,  # built from this project's own constants
            chosen.parameters | {"pods": list(pods)},
        )
        rows: list[tuple[int, Decimal, Decimal, str]] = cursor.fetchall()
    return {
        pod: (Fraction(raw) / Fraction(ms), currency) for pod, ms, raw, currency in rows
    }
