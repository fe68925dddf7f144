"""What still keeps work from starting after some changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.world.lenient import quantity


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that keeps work from starting.

    Attributes:
        facts: numbers and names of it, as plain values, as in the facts of an explanation.
        detail: what admission found, for those that look for a change.
        is_of_nodes: no node has place, so that changes of nodes may help.
    """

    cause: WaitCause
    facts: Mapping[str, object] = field(default_factory=dict)
    detail: object = None
    is_of_nodes: bool = False

    def as_value(self) -> dict[str, object]:
        """As a plain value."""
        return {"cause": self.cause.value, **self.facts}


@dataclass(frozen=True, slots=True)
class Shortage:
    """A key of a quota that has too little left.

    Attributes:
        requested: of all the pods that must be let in together.
    """

    quota: str
    key: str
    requested: int
    used: int
    hard: int


@dataclass(frozen=True, slots=True)
class Unset:
    """Keys of a quota for which a container has no request or limit."""

    quota: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """A limit of a range that a container, or the pod, does not keep.

    Attributes:
        limit: `min`, `max` or `ratio`.
        asked: thousandths; None if no request or limit is set. Of a ratio the one that there is.
        limit_amount: the limit that is set; 0 without one.
        is_limit: of the limit, else of the request.
    """

    range: str
    type: str
    limit: str
    resource: str
    bound: int
    asked: int | None
    is_limit: bool = False
    limit_amount: int = 0


def amount(index: WorldIndex, key: str, thousandths: int) -> int | str:
    """GPUs as an integer, other resources as a quantity."""
    if resource_of(key, index.world.added):
        return thousandths // 1000
    return quantity(thousandths)


def of_quota(index: WorldIndex, one: Shortage | Unset) -> Obstacle:
    """A quota as what keeps work from starting."""
    if isinstance(one, Unset):
        facts: dict[str, object] = {"quota": one.quota, "unset": list(one.keys)}
        return Obstacle(WaitCause.QUOTA_OTHER, facts, one)
    is_gpu = resource_of(one.key, index.world.added) is not None
    facts = {"quota": one.quota, "key": one.key}
    for name in ("requested", "used", "hard"):
        facts[name] = amount(index, one.key, getattr(one, name))
    return Obstacle(WaitCause.QUOTA if is_gpu else WaitCause.QUOTA_OTHER, facts, one)


def of_limit(one: Violation) -> Obstacle:
    """A limit range as what keeps work from starting."""
    facts = {
        "range": one.range,
        "limit": one.limit,
        "resource": one.resource,
        "bound": quantity(one.bound),
        "asked": None if one.asked is None else quantity(one.asked),
    }
    return Obstacle(WaitCause.LIMIT_RANGE, facts, one)
