"""Work that holds GPUs and is idle now (alerts.md R1): holders of S37, no window is read again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from accounting.access.scope import EVERYTHING
from accounting.core.interval import to_instant, to_ms
from accounting.kit.tags.units import short_model
from scheduler_view.alerts.rules.catalogue import Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing, first_at_once
from scheduler_view.alerts.rules.states import FigureUnit
from scheduler_view.idle.reads import IdleRow, idle_rows
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.idle import MINUTE_MS

_EPISODES = (WasteRule.IDLE, WasteRule.NEVER_BUSY, WasteRule.TAIL)


def idle_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Holders that are idle for the threshold: unknown time does not count (S28)."""
    for row in idle_rows(EVERYTHING, at=at):
        least = limits.of(row.team_id)
        if least is not None and row.idle_ms >= least * MINUTE_MS:
            yield _cause(row, least)


def _cause(row: IdleRow, least: int) -> AlertCause:
    (cluster, workload, pod), team = row.key
    since = to_instant(row.since_ms)
    # with unknown time between, it was idle for so long later than so long after its begin
    fired = to_instant(row.until_ms - (row.idle_ms - least * MINUTE_MS))
    owner = f", {row.owner}" if row.owner else ""
    return AlertCause(
        key=f"{cluster}/{workload}/{pod}/{team}",
        what=f"{row.name} holds {row.gpus_text} {short_model(row.model)} and is idle",
        about=f"{row.namespace} on {row.cluster}{owner}",
        team=team or None,
        since=since,
        fired_at=max(fired, since),
        figure=row.amount if row.amount is not None else Decimal(row.gpu_ms),
        unit=row.currency if row.amount is not None else FigureUnit.GPU_MS,
        amount=row.amount,
        per_hour=row.per_hour,
        currency=row.currency,
        place=(row.id,),
    )


def idle_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When holders became idle for so long, from findings of the past (S28, S29).

    Pods of one workload that are idle at the same time are one cause, as now.
    """
    found = WasteFinding.objects.filter(
        rule__in=_EPISODES,
        day__gte=start.date() - timedelta(days=1),
        end_ms__gt=to_ms(start),
        pod__isnull=False,
    ).values_list("workload_id", "pod_id", "team_id", "start_ms", "end_ms")
    spans: dict[tuple[int, int, int], set[tuple[int, int]]] = defaultdict(set)
    for workload, pod, team, start_ms, end_ms in found:
        work = (workload, 0) if workload else (0, pod or 0)
        spans[(*work, team or 0)].add((start_ms, end_ms))
    for least in choices:
        for (*_, team), of_work in spans.items():
            for fired_ms in first_at_once(
                of_work, least * MINUTE_MS, to_ms(start), to_ms(end)
            ):
                yield Firing(least, team, to_instant(fired_ms))
