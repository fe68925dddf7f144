"""Queues of all schedulers: those that metrics tell of, and KAI's, which are objects.

KAI's Queue (`scheduling.run.ai/v2`) counts GPUs of any kind, in fractions; -1 is no limit.
Source: its custom resource definition.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from accounting.domain.core.interval import to_ms
from accounting.domain.inventory.scheduler_queues import UNLIMITED, QueueFacts
from accounting.models import Cluster
from accounting.queries.queues import QueueRow, queue_rows
from scheduler_view.domain.objects.stored_manifest import KAI_QUEUE
from scheduler_view.domain.quotas.quantity import QuantityError, parse_quantity
from scheduler_view.models import Observation, ObservationRun

KAI = "kai"


def all_queue_rows(*, cluster: str = "") -> list[QueueRow]:
    """Every queue, by cluster, scheduler and name; for those who see all teams."""
    runs = ObservationRun.objects.filter(kind=KAI_QUEUE, seen_at__isnull=False)
    seen = {run.cluster_id: to_ms(run.seen_at) for run in runs if run.seen_at}
    clusters = Cluster.objects.filter(pk__in=seen)
    if cluster:
        clusters = clusters.filter(name=cluster)
    found = [
        QueueRow(one.name, kai_facts(name, manifest, seen[one.pk]))
        for one in clusters
        for name, manifest in Observation.objects.filter(
            cluster=one, kind=KAI_QUEUE
        ).values_list("name", "manifest")
    ]
    return sorted(
        [*queue_rows(cluster=cluster), *found],
        key=lambda r: (r.cluster, r.facts.scheduler, r.facts.queue, r.facts.resource),
    )


def kai_facts(name: str, manifest: Mapping[str, Any], at_ms: int) -> QueueFacts:
    """One queue of KAI in GPUs; what it does not say is None.

    Args:
        name: of the object.
        manifest: as `kept` stores it.
        at_ms: when it was looked at.
    """
    gpu = ((manifest.get("spec") or {}).get("resources") or {}).get("gpu") or {}
    status = manifest.get("status") or {}
    quota, limit = _number(gpu.get("quota")), _number(gpu.get("limit"))
    used, asked = _gpus(status.get("allocated")), _gpus(status.get("requested"))
    is_open = quota is not None and quota < 0
    above: Fraction | str | None = None
    if limit is not None and quota is not None:
        above = UNLIMITED if limit < 0 or is_open else max(limit - quota, Fraction(0))
    borrowed = None
    if used is not None and quota is not None:
        borrowed = Fraction(0) if is_open else max(used - quota, Fraction(0))
    pending = None
    if used is not None and asked is not None:
        pending = max(asked - used, Fraction(0))
    return QueueFacts(
        scheduler=KAI,
        queue=name,
        resource="",  # of any kind
        quota=UNLIMITED if is_open else _shown(quota),
        borrowing_limit=above if isinstance(above, str) else _shown(above),
        used=_shown(used),
        borrowed=_shown(borrowed),
        pending=_shown(pending),
        at_ms=at_ms,
    )


def _gpus(amounts: Mapping[str, Any] | None) -> Fraction | None:
    """GPUs of a list of resources; None where it has none, as before the first pod."""
    if amounts is None:
        return None
    values = [_number(v) for name, v in amounts.items() if _is_gpu(name)]
    return sum((v for v in values if v is not None), Fraction(0))


def _is_gpu(name: str) -> bool:
    return name == "gpu" or name.endswith("/gpu")


def _number(value: object) -> Fraction | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        return parse_quantity(str(value))
    except QuantityError:
        return None


def _shown(value: Fraction | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value.denominator == 1 else float(round(value, 3))
