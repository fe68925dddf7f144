"""KAI: its queues are objects that count GPUs of any kind, in fractions; -1 means no limit.

Source: the custom resource definition of its Queue (`scheduling.run.ai/v2`).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from accounting.metering.rules.inventory.scheduler_queues import UNLIMITED, QueueFacts
from scheduler_view.clusters.rules.json_operations import at_path
from scheduler_view.clusters.rules.quantity import QuantityError, parse_quantity
from scheduler_view.clusters.rules.quota_key import Added
from scheduler_view.clusters.rules.schedulers.adapter import (
    Endpoint,
    Manifest,
    QueueObjects,
    SchedulerAdapter,
)
from scheduler_view.clusters.rules.schedulers.queue_fields import (
    QueueFields,
    SentAs,
    integer_fault,
    number_of,
    quantity_fault,
    shown,
)
from scheduler_view.clusters.rules.shape import AMOUNTS, QUANTITY, TEXT, WHOLE, Fields

NAME = "kai"
GPU_FIELDS = ("gpu/quota", "gpu/limit", "gpu/overQuotaWeight")
FIELDS = (*GPU_FIELDS, "priority")
INT32 = 2**31 - 1
_SHAPE = Fields(
    spec=Fields(
        parentQueue=TEXT,
        priority=WHOLE,
        resources=Fields(
            gpu=Fields(quota=QUANTITY, limit=QUANTITY, overQuotaWeight=QUANTITY)
        ),
    ),
    status=Fields(allocated=AMOUNTS, requested=AMOUNTS),
)
_QUOTA = ("spec", "resources", "gpu", "quota")


def stored(manifest: Manifest) -> dict[str, Any]:
    """The stored part of a queue."""
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    resources = spec.get("resources") or {}
    return {
        "spec": {
            **{
                name: spec[name] for name in ("parentQueue", "priority") if name in spec
            },
            "resources": {"gpu": resources["gpu"]} if "gpu" in resources else {},
        },
        "status": {
            name: status[name] for name in ("allocated", "requested") if name in status
        },
    }


def facts(name: str, manifest: Mapping[str, Any], at_ms: int) -> QueueFacts:
    """The figures of a queue in GPUs; missing values are None.

    Args:
        name: of the object.
        manifest: its stored part.
        at_ms: observation time.
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
        scheduler=NAME,
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
    """GPUs in a list of resources; None if it has none, as before the first pod."""
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


def _owned(field: str) -> tuple[str, ...]:
    if field == "priority":
        return ("spec", "priority")
    return ("spec", "resources", *field.split("/"))


def _raw(_: str, value: str) -> int | float:
    number = parse_quantity(value)
    return int(number) if number.denominator == 1 else float(number)


def _unknown(field: str, _: Added) -> str:
    return "" if field in FIELDS else f"must be one of {', '.join(FIELDS)}"


def _fault(field: str, value: str, _: Added) -> str:
    if field == "priority":
        return integer_fault(value, -INT32 - 1, INT32)
    number = _number(value)
    if number == -1 and field != GPU_FIELDS[2]:
        return ""  # no limit
    fault = quantity_fault(value)
    return f"{fault}; -1 means unlimited" if number is not None and fault else fault


def _doubts(manifest: Manifest, others: Sequence[Manifest]) -> list[str]:
    """KAI accepts quotas of children that exceed the one of their parent."""
    parent_name = at_path(manifest, ("spec", "parentQueue"))
    found = []
    for parent in others:
        name = parent["metadata"]["name"]
        most = number_of(at_path(parent, _QUOTA))
        if name not in (parent_name, manifest["metadata"]["name"]) or not most:
            continue
        own = [one for one in others if at_path(one, ("spec", "parentQueue")) == name]
        quotas = [number_of(at_path(one, _QUOTA)) or 0 for one in own]
        total = sum((max(one, 0) for one in quotas), Fraction(0))
        if most > 0 and total > most:
            found.append(
                f"The quotas of the queues below {name} add up to {shown(float(total))} GPUs, "
                f"more than its quota of {shown(float(most))}."
            )
    return found


def _used(manifest: Manifest, part: str) -> str | None:
    found = _gpus((manifest.get("status") or {}).get("allocated")) if part else None
    return None if found is None else shown(float(found))


ADAPTER = SchedulerAdapter(
    NAME,
    "KAI",
    counts_any_gpu=True,
    objects=(
        QueueObjects(
            kind="KaiQueue",  # `Queue` of scheduling.run.ai; other APIs use that name too
            endpoints=(
                Endpoint("scheduling.run.ai/v2", "queues", is_namespaced=False),
            ),
            shape=_SHAPE,
            stored=stored,
            facts=facts,
            fields=QueueFields(
                SentAs.APPLY,
                names=lambda _, __: list(FIELDS),
                path=lambda field, _: _owned(field),
                raw=_raw,
                unknown=_unknown,
                fault=_fault,
                owned=_owned,
                resource=lambda field: "" if field in GPU_FIELDS[:2] else None,
                rules=lambda _, __: [],
                doubts=_doubts,
                used=_used,
            ),
        ),
    ),
)
