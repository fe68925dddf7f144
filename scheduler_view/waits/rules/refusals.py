"""Pods that were not let in: what the API server answered their controller (scheduling.md S8)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.waits.rules.cause import WaitCause
from scheduler_view.waits.rules.placement.index import WorldIndex
from scheduler_view.waits.rules.units import WorkUnit
from scheduler_view.waits.rules.world.controllers import ControllerObject
from scheduler_view.waits.rules.world.events import NO_CLAIM, REFUSED
from scheduler_view.waits.rules.world.lenient import milli
from scheduler_view.waits.rules.world.limits import QuotaObject
from scheduler_view.waits.rules.world.pods import PodObject

LONGEST = 4096  # characters of a message that are read
_EXCEEDED = re.compile(
    r"exceeded quota: (?P<name>[^,\s]+), requested: (?P<requested>.*?), "
    r"used: (?P<used>.*?), limited: (?P<limited>.*)"
)
_MUST = re.compile(r"failed quota: (?P<name>[^:\s]+): must specify (?P<keys>.+)")
_MUST_KEY = re.compile(r"(?:^|; ?)(?P<keys>[^:;\s]+)")
_CLASS = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
_LIMIT = re.compile(
    r"(?:(?P<bound>maximum|minimum) (?P<resource>\S+) usage"
    r"|(?P<ratio>\S+) max limit to request ratio)"
    r" per (?P<type>\w+) is (?P<most>[^\s,]*[^\s,.])"
    r"(?:, but (?:limit|request|provided ratio) is (?P<asked>[\w.]*\w))?"
)
_BOUNDS = {"maximum": "max", "minimum": "min", None: "ratio"}


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """One refusal.

    Attributes:
        subject: the object that its event is about.
        name: of the quota, limit range or class that refused it.
        key: of the quota that is short; or the limited resource.
        requested, used, hard: thousandths of that key; `hard` is also the limit of a range.
        amounts: requested, used and limited by key, as the sentence has them.
        must_specify: the keys of a quota that the pod has no request or limit for.
        limit: of a range: `min`, `max` or `ratio`.
    """

    cause: WaitCause
    message: str
    at_ms: int
    subject: str
    name: str = ""
    key: str = ""
    requested: int = 0
    used: int = 0
    hard: int = 0
    type: str = ""
    amounts: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    must_specify: tuple[str, ...] = ()
    limit: str = ""
    classes: frozenset[str] = field(default_factory=frozenset)


def refusal_of_maker(
    index: WorldIndex, unit: WorkUnit, maker: ControllerObject
) -> AdmissionRefusal | None:
    """Why a controller could not make its pods; None if nothing shows it."""
    event = index.newest_event(
        REFUSED, maker.kind, maker.namespace, maker.name, maker.uid
    )
    if event is not None:
        about = f"Event/{maker.kind} {maker.namespace}/{maker.name} {REFUSED}"
        return read_refusal(index, maker.namespace, event.message, event.at_ms, about)
    top = unit.top
    if top is not None and top.failure:
        return read_refusal(index, maker.namespace, top.failure, 0, unit.subject)
    return None


def refusal_of_claim(index: WorldIndex, pod: PodObject) -> AdmissionRefusal | None:
    """Why a resource claim of a pod was not let in; None if no quota refused it."""
    event = index.newest_event(NO_CLAIM, "Pod", pod.namespace, pod.name, pod.uid)
    if event is None or _EXCEEDED.search(event.message[:LONGEST]) is None:
        return None
    about = f"Event/Pod {pod.path} {NO_CLAIM}"
    return read_refusal(index, pod.namespace, event.message, event.at_ms, about)


def read_refusal(
    index: WorldIndex, namespace: str, message: str, at_ms: int, subject: str
) -> AdmissionRefusal:
    """What refused a pod, by the API server's sentence; `admission_other` if it is not known."""
    text = message[:LONGEST]
    if found := _EXCEEDED.search(text):
        return _of_quota(index, namespace, found, message, at_ms, subject)
    if found := _MUST.search(text):
        return AdmissionRefusal(
            WaitCause.QUOTA_OTHER,
            message,
            at_ms,
            subject,
            found["name"],
            _keys(found["keys"])[0],
            must_specify=_keys(found["keys"]),
        )
    if found := _LIMIT.search(text):
        most, asked = milli(found["most"]) or 0, milli(found["asked"] or "") or 0
        resource = found["resource"] or found["ratio"]
        bound = _BOUNDS[found["bound"]]
        name = _limit_range(index, namespace, found["type"], resource, bound, most)
        return AdmissionRefusal(
            WaitCause.LIMIT_RANGE,
            message,
            at_ms,
            subject,
            name,
            resource,
            requested=asked,
            hard=most,
            type=found["type"],
            limit=bound,
        )
    if found := _CLASS.search(text):
        return AdmissionRefusal(
            WaitCause.PRIORITY_CLASS_MISSING, message, at_ms, subject, found["name"]
        )
    return AdmissionRefusal(WaitCause.ADMISSION_OTHER, message, at_ms, subject)


def _of_quota(
    index: WorldIndex,
    namespace: str,
    found: re.Match[str],
    message: str,
    at_ms: int,
    subject: str,
) -> AdmissionRefusal:
    requested, used = _pairs(found["requested"]), _pairs(found["used"])
    limited = _pairs(found["limited"])
    live = find_quota(index, namespace, found["name"])
    gpu = [key for key in requested if resource_of(key, index.world.added)]
    short = [
        key
        for key, amount in requested.items()
        if used.get(key, 0) + amount > limited.get(key, 0)
    ]
    key = next((one for one in short if one in gpu), None) or next(
        iter((*short, *gpu, *requested)), ""
    )
    cause = WaitCause.QUOTA if key in gpu else WaitCause.QUOTA_OTHER
    if cause is WaitCause.QUOTA and live is not None and live.scopes:
        cause = WaitCause.SCOPE_QUOTA
    return AdmissionRefusal(
        cause,
        message,
        at_ms,
        subject,
        found["name"],
        key,
        requested.get(key, 0),
        _now(live.used if live else {}, key, used),
        _now(live.hard if live else {}, key, limited),
        classes=live.classes if live else frozenset(),
        amounts={
            key: (amount, used.get(key, 0), limited.get(key, 0))
            for key, amount in requested.items()
        },
    )


def _now(live: Mapping[str, int], key: str, written: Mapping[str, int]) -> int:
    """The amount of the object, which is newer than the sentence."""
    return live[key] if key in live else written.get(key, 0)


def find_quota(index: WorldIndex, namespace: str, name: str) -> QuotaObject | None:
    """A quota by its name."""
    for one in index.world.quotas:
        if (one.namespace, one.name) == (namespace, name):
            return one
    return None


def _pairs(text: str) -> dict[str, int]:
    """`key=amount,key=amount` in thousandths."""
    found: dict[str, int] = {}
    for pair in text.split(","):
        key, _, value = pair.strip().partition("=")
        amount = milli(value.strip())
        if key and amount is not None:
            found[key] = amount
    return found


def _keys(text: str) -> tuple[str, ...]:
    """`cpu for: main; memory for: main` or `cpu,memory`: the keys, each once."""
    found = (one["keys"].split(",") for one in _MUST_KEY.finditer(text))
    return tuple(dict.fromkeys(key for keys in found for key in keys if key))


def _limit_range(
    index: WorldIndex, namespace: str, kind: str, resource: str, bound: str, value: int
) -> str:
    """The limit range with this bound; empty if none is known."""
    for one in index.world.limit_ranges:
        if one.namespace == namespace and any(
            item.type == kind and item.bound(bound).get(resource) == value
            for item in one.items
        ):
            return one.name
    return ""
