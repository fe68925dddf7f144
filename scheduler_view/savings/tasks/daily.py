"""Findings of one day that overlap others: waits behind lower priority and starved ones, work that
could run on spot or on a smaller size (scheduling.md S21, S22, S31, S33)."""

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.due_days import DueDay
from scheduler_view.savings.reads.on_demand import (
    on_demand_work,
    spot_limits,
    spot_loss,
)
from scheduler_view.savings.reads.past_waits import (
    UnitKey,
    UnitOwners,
    holds_on,
    inverted_units,
    past_waits,
)
from scheduler_view.savings.reads.used_sizes import sized_times, used_sizes
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.sizing.right_size import size_finding, smaller_size
from scheduler_view.savings.rules.sizing.spot import may_run_on_spot, spot_saving
from scheduler_view.savings.rules.waiting.inversion import inversions
from scheduler_view.savings.rules.waiting.starvation import Starved, starved
from scheduler_view.savings.tasks.finding_rows import ROWS_AT_ONCE, finding_rows

RULES = frozenset(
    {
        *(WasteRule.INVERSION, WasteRule.STARVED),
        *(WasteRule.SPOT, WasteRule.RIGHT_SIZE),
    }
)


def store_daily(cluster: Cluster, due: DueDay, until_ms: int) -> None:
    """Replace these findings of a day; its runs and idle findings are stored already.

    Args:
        until_ms: the instant up to which time is known.
    """
    WasteFinding.objects.filter(cluster=cluster, day=due.day, rule__in=RULES).delete()
    span = to_ms(due.start), min(to_ms(due.end), until_ms)
    rows = [
        *_inverted(cluster, due),
        *_starved(cluster, due),
        *_on_spot(cluster, due, span),
        *_smaller(cluster, due, span),
    ]
    WasteFinding.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def _inverted(cluster: Cluster, due: DueDay) -> list[WasteFinding]:
    units = inverted_units(cluster, due.start, due.end)
    if not units:
        return []
    owners = UnitOwners(cluster, [unit.key for unit in units], due.end)
    pods = {pod for unit in units for one in unit.stretches for pod in one.pods}
    holds = holds_on(cluster, due.day, pods)
    rows = []
    for unit in units:
        team = owners.team(unit.key)
        for finding in inversions(
            unit.number, team, unit.since_ms, unit.stretches, holds
        ):
            rows += [
                _of_unit(row, unit.key, owners)
                for row in finding_rows(cluster, finding)
            ]
    return rows


def _starved(cluster: Cluster, due: DueDay) -> list[WasteFinding]:
    waits = past_waits(cluster, due.start, due.end)
    if waits is None:
        return []
    owners = UnitOwners(cluster, waits.keys.values(), due.end)
    found = (starved(one, waits.others, waits.now_ms) for one in waits.long)
    return [
        _of_unit(
            _starved_row(cluster, due, one, owners.team(waits.keys[one.unit])),
            waits.keys[one.unit],
            owners,
        )
        for one in found
        if one is not None
    ]


def _starved_row(
    cluster: Cluster, due: DueDay, one: Starved, team: int
) -> WasteFinding:
    """It has no GPU time: nothing was held."""
    return WasteFinding(
        cluster=cluster,
        day=due.day,
        rule=WasteRule.STARVED.value,
        team_id=team or None,
        start_ms=one.start_ms,
        end_ms=one.end_ms,
        gpu_ms=0,
        raw=0,
        evidence={
            "overtaken": one.overtaken,
            "waited_ms": one.waited_ms,
            "usual_ms": one.usual_ms,
        },
    )


def _of_unit(row: WasteFinding, key: UnitKey, owners: UnitOwners) -> WasteFinding:
    row.unit = "/".join(key)
    row.workload_id = owners.workload(key)
    return row


def _on_spot(
    cluster: Cluster, due: DueDay, span_ms: tuple[int, int]
) -> list[WasteFinding]:
    limits = spot_limits()
    work = [
        one
        for one in on_demand_work(cluster, due.day, span_ms[1])
        if may_run_on_spot(one.work, limits)
    ]
    if not work:
        return []
    loss = spot_loss(cluster, due.day)
    rows = []
    for one in work:
        finding = spot_saving(one.work, one.times, loss, span_ms, limits)
        for row in finding_rows(cluster, finding) if finding else ():
            row.workload_id = one.work.workload
            rows.append(row)
    return rows


def _smaller(
    cluster: Cluster, due: DueDay, span_ms: tuple[int, int]
) -> list[WasteFinding]:
    sizes = {
        used.workload: (used, size)
        for used in used_sizes(cluster, due.start, due.end)
        if (size := smaller_size(used)) is not None
    }
    times = sized_times(cluster, due.day, sizes) if sizes else {}
    rows = []
    for workload, (used, size) in sizes.items():
        finding = size_finding(used, size, times.get(workload, ()), span_ms)
        for row in finding_rows(cluster, finding) if finding else ():
            row.workload_id = workload
            rows.append(row)
    return rows
