"""Pods that would have to end, and work that would have to shrink, as remedies (S13)."""

from collections.abc import Iterable, Iterator, Mapping

from scheduler_view.waits.rules.explanation import Remedy, WaitChange, remedy
from scheduler_view.waits.rules.placement.holders import HolderSet
from scheduler_view.waits.rules.remedies.case import WaitCase
from scheduler_view.waits.rules.world.pods import PodObject

SCALED = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})
MOST_SETS = 8
MOST_EQUAL = 4  # pods in the place of a single one


def ended(pods: Iterable[PodObject]) -> WaitChange:
    """The change that ends some pods."""
    pods = list(pods)
    stuck = {pod.path: list(pod.finalizers) for pod in pods if pod.is_stuck}
    waiting = [pod.path for pod in pods if not pod.node and not pod.is_stuck]
    return _end([pod.path for pod in pods], stuck, waiting)


def _end(
    paths: list[str], stuck: Mapping[str, list[str]], waiting: list[str]
) -> WaitChange:
    more = ({"stuck": dict(stuck)} if stuck else {}) | (
        {"waiting": sorted(waiting)} if waiting else {}
    )
    if len(paths) == 1:
        return WaitChange("end_pod", {"pod": paths[0], **more})
    return WaitChange("end_pods", {"pods": sorted(paths), **more})


def ended_sets(case: WaitCase, sets: list[HolderSet]) -> Iterator[Remedy]:
    """Each set, and equal pods in the place of a single one."""
    foreign = [one for one in sets if not case.has_own(one)]
    for one in foreign[:MOST_SETS]:
        yield Remedy((ended(one.pods),))
        for other in case.blockers.equals(one)[:MOST_EQUAL]:
            if not case.blockers.is_own(other):
                yield Remedy((ended([other]),))


def for_all(case: WaitCase, singles: list[Remedy]) -> Iterator[Remedy]:
    """Remedies of single nodes together, as many as all members of a gang need."""
    if not singles or not case.trial.starts(joined(singles).changes):
        return
    low, high = 1, len(singles)
    while low < high:  # fewer are never enough where more are not
        middle = (low + high) // 2
        if case.trial.starts(joined(singles[:middle]).changes):
            high = middle
        else:
            low = middle + 1
    yield joined(singles[:low])


def joined(found: list[Remedy]) -> Remedy:
    """All changes, each once; the ends of pods as one."""
    ends: dict[str, None] = {}
    stuck: dict[str, list[str]] = {}
    waiting: dict[str, None] = {}
    others: list[WaitChange] = []
    for change in (c for one in found for c in one.changes):
        if change.kind in ("end_pod", "end_pods"):
            pods = change.details.get("pods") or [change.details["pod"]]
            ends |= dict.fromkeys(pods if isinstance(pods, list) else ())
            known = change.details.get("stuck")
            stuck |= known if isinstance(known, dict) else {}
            unbound = change.details.get("waiting")
            waiting |= dict.fromkeys(unbound if isinstance(unbound, list) else ())
        elif change not in others:
            others.append(change)
    if ends:
        others.append(_end(list(ends), stuck, list(waiting)))
    return Remedy(tuple(others))


def scaled(case: WaitCase) -> Iterator[Remedy]:
    """As many replicas as it has, where it waits for its own."""
    unit = case.unit
    wanted = unit.top.replicas if unit.top else None
    is_own = bool(case.sets) and case.has_own(case.sets[0])
    if is_own and unit.kind in SCALED and 0 < len(unit.bound) < (wanted or 0):
        yield remedy("scale_down", to=len(unit.bound))
