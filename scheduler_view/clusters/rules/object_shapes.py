"""The fields that are read of each kind of objects, with their types."""

from collections.abc import Mapping
from typing import Any

from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.schedulers import queue_objects
from scheduler_view.clusters.rules.shape import (
    AMOUNTS,
    CONDITIONS,
    FLAG,
    METADATA,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Fields,
    Items,
    Named,
    shaped,
)

MOST_FAULTS = 5  # of one object that are named

_CONTAINER = Fields(
    name=TEXT,
    restartPolicy=TEXT,
    resources=Fields(requests=AMOUNTS, limits=AMOUNTS, claims=Items(Fields())),
)
_ATTRIBUTES = Named(Fields(string=TEXT, version=TEXT))
_SLICE = Fields(
    spec=Fields(
        driver=TEXT,
        nodeName=TEXT,
        pool=Fields(name=TEXT),
        devices=Items(
            Fields(
                name=TEXT, attributes=_ATTRIBUTES, basic=Fields(attributes=_ATTRIBUTES)
            )
        ),
    )
)
_CLAIM = Fields(
    status=Fields(
        allocation=Fields(
            devices=Fields(
                results=Items(
                    Fields(driver=TEXT, pool=TEXT, device=TEXT, adminAccess=FLAG)
                )
            )
        ),
        reservedFor=Items(Fields(resource=TEXT, name=TEXT, uid=TEXT)),
    )
)
_SHAPES: Mapping[str, Fields] = {
    QUOTA: Fields(
        spec=Fields(
            hard=AMOUNTS,
            scopes=TEXTS,
            scopeSelector=Fields(
                matchExpressions=Items(
                    Fields(scopeName=TEXT, operator=TEXT, values=TEXTS)
                )
            ),
        ),
        status=Fields(hard=AMOUNTS, used=AMOUNTS),
    ),
    CLASS: Fields(
        value=WHOLE, globalDefault=FLAG, preemptionPolicy=TEXT, description=TEXT
    ),
    "LimitRange": Fields(
        spec=Fields(
            limits=Items(
                Fields(
                    type=TEXT,
                    max=AMOUNTS,
                    min=AMOUNTS,
                    default=AMOUNTS,
                    defaultRequest=AMOUNTS,
                    maxLimitRequestRatio=AMOUNTS,
                )
            )
        )
    ),
    "Namespace": Fields(status=Fields(phase=TEXT)),
    "Node": Fields(
        spec=Fields(
            unschedulable=FLAG, taints=Items(Fields(key=TEXT, value=TEXT, effect=TEXT))
        ),
        status=Fields(allocatable=AMOUNTS, capacity=AMOUNTS, conditions=CONDITIONS),
    ),
    "Pod": Fields(
        spec=Fields(
            nodeName=TEXT,
            priorityClassName=TEXT,
            priority=WHOLE,
            preemptionPolicy=TEXT,
            containers=Items(_CONTAINER),
            initContainers=Items(_CONTAINER),
            resourceClaims=Items(Fields()),
            schedulingGates=Items(Fields(name=TEXT)),
        ),
        status=Fields(phase=TEXT, conditions=CONDITIONS),
    ),
    "Event": Fields(
        reason=TEXT,
        message=TEXT,
        count=WHOLE,
        series=Fields(),
        involvedObject=Fields(kind=TEXT, namespace=TEXT, name=TEXT, uid=TEXT),
        eventTime=TIME,
        firstTimestamp=TIME,
        lastTimestamp=TIME,
    ),
    "ResourceClaim": _CLAIM,
    "ResourceClaim v1beta1": _CLAIM,
    "ResourceSlice": _SLICE,
    "ResourceSlice v1beta1": _SLICE,
    **{one.kind: one.shape for one in queue_objects()},
}
_COMMON = Fields(kind=TEXT, apiVersion=TEXT, metadata=METADATA)
_OTHER = Fields(spec=Fields(), status=Fields(phase=TEXT))


def well_formed(
    kind: str, manifest: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """An object without fields of a wrong type, and what was wrong, one text each."""
    faults: list[str] = []
    fields = Fields(_COMMON | _SHAPES.get(kind, _OTHER))
    found: dict[str, Any] = shaped(manifest, fields, faults)
    if len(faults) > MOST_FAULTS:
        rest = len(faults) - MOST_FAULTS
        has = "field has" if rest == 1 else "fields have"
        faults = [*faults[:MOST_FAULTS], f"{rest:,} more {has} a wrong type"]
    return found, faults
