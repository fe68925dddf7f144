"""Pools of GPUs: what each has free and what waits for it, one through time, and sick nodes."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.kit.charts.queues import LINES, queue_over_time
from accounting.kit.pages.permissions import signed_in, visitor_of
from accounting.kit.tags import units
from accounting.metering.models.cluster import Cluster
from accounting.usage.pages.figures import Chart, Key
from accounting.usage.pages.steps import hour_axis
from scheduler_view.queues.reads.pools import (
    PoolHours,
    PoolRow,
    pool_hours,
    pool_rows,
)
from scheduler_view.waits.reads.node_notes import node_note_rows

HOURS = 7 * 24  # of the chart
LEAST_HOURS = 24  # of the chart of a pool that was first observed later


@signed_in
def pool_page(request: HttpRequest) -> HttpResponse:
    """Every pool now, one of them through time, and nodes with problems."""
    visitor = visitor_of(request)
    scope, now = visitor.scope, visitor.now
    cluster = request.GET.get("cluster", "")
    pools = pool_rows(scope, now, cluster=cluster)
    chosen = _chosen(pools, request.GET.get("pool", ""))
    context = {
        "pools": pools,
        "chosen": chosen,
        "is_measured": any(one.error_ms is not None for one in pools),
        "chart": chosen
        and _chart(pool_hours(chosen, now, hours=HOURS), chosen, visitor.zone),
        "notes": node_note_rows(scope, now, cluster=cluster),
        "clusters": cluster_names() if scope.sees_any else {},
        "cluster": cluster,
    }
    return render(request, "queues/pools.html", context)


def cluster_names() -> dict[str, str]:
    """Every cluster, as a menu lists them."""
    names = Cluster.objects.order_by("name").values_list("name", flat=True)
    return {name: name for name in names}


def _chosen(pools: Sequence[PoolRow], key: str) -> PoolRow | None:
    """The pool of the address, else the one in which most waits, else the largest."""
    for one in pools:
        if one.key == key:
            return one
    return max(pools, key=lambda one: (one.depth, one.capacity), default=None)


def _chart(hours: PoolHours, pool: PoolRow, zone: ZoneInfo) -> Chart | None:
    """None before anything was observed; it begins with what was, a day ago at the latest."""
    first = hours.first
    hours = hours.last(max(len(hours.starts) - first, LEAST_HOURS))
    values = dict(
        zip(LINES, (hours.depth, hours.available, hours.fitting), strict=True)
    )
    axis = hour_axis(tuple(hours.starts), zone)
    known = [value for value in hours.depth if value is not None]
    if not known:
        return None
    legend = [Key(name, slot) for name, (slot, _) in LINES.items()]
    if None in hours.depth:
        legend.append(Key("No data", 0, "unknown"))
    span = f"of {HOURS // 24} days" if not first else "since the first observation"
    free = "" if pool.available is None else f", {pool.available} free"
    return Chart(
        figure=queue_over_time(axis, values),
        sentence=(
            f"Hourly averages {span}. Requested by waiting work: "
            f"{units.average(known[-1])} GPUs in the latest hour, "
            f"at most {units.average(max(known))} in an hour{free} now."
        ),
        columns=("Hour", *LINES),
        rows=tuple(
            (label, *(units.average(column[i]) for column in values.values()))
            for i, label in enumerate(axis.labels)
        ),
        legend=tuple(legend),
    )
