"""Tiny fleets, sample by sample, for numbers that are worked out by hand.

Times are seconds after 10:00:00 UTC, where a window begins.
"""

from collections.abc import Iterable, Mapping

from tests.oracle.ledger import STATES, Ledger
from tests.oracle.plans import START
from tests.oracle.samples import ENGINE, SECOND, Sample

KSM = {"job": "ksm", "instance": "k0"}
DCGM = {"job": "dcgm", "instance": "d0"}
A100 = "NVIDIA A100-SXM4-80GB"
Labels = dict[str, str]
NOTHING: Mapping[str, str] = {}


def every(step: int, start: int, end: int) -> list[int]:
    """Scrape times from `start` up to `end`, both included."""
    return list(range(start, end + 1, step))


def ms(at: float) -> int:
    """Milliseconds since 1970 of a time."""
    return round((START + at) * SECOND)


def node(
    name: str,
    units: int,
    times: Iterable[int],
    by: Labels = KSM,
    resource: str = "nvidia_com_gpu",
    labels: Mapping[str, str] = NOTHING,
) -> list[Sample]:
    """A node object; `labels` of it without `label_`."""
    key, found = by | {"node": name}, []
    what = {"resource": resource, "unit": "integer"}
    said = {f"label_{label}": value for label, value in labels.items()}
    for at in times:
        found.append(Sample("kube_node_status_capacity", key | what, ms(at), units))
        if said:
            found.append(Sample("kube_node_labels", key | said, ms(at), 1))
    return found


def pod(
    name: str,
    on: str,
    times: Iterable[int],
    by: Labels = KSM,
    uid: str = "",
    bound: int | None = None,
    units: int = 1,
    resource: str = "nvidia_com_gpu",
) -> list[Sample]:
    """A running pod of namespace `team`; Pending where `on` is empty."""
    key = by | {"namespace": "team", "pod": name, "uid": uid or f"u-{name}"}
    what = {"container": "m", "resource": resource, "unit": "integer", "node": on}
    requests, found = "kube_pod_container_resource_requests", []
    scheduled = "kube_pod_status_scheduled_time"
    for at in times:
        found.append(Sample("kube_pod_info", key | {"node": on}, ms(at), 1))
        found.append(Sample(requests, key | what, ms(at), units))
        if bound is not None:
            found.append(Sample(scheduled, key, ms(at), START + bound))
    return found


def gpu(
    uuid: str,
    on: str,
    times: Iterable[int],
    value: float = 0.5,
    labels: Mapping[str, str] = NOTHING,
    metric: str = ENGINE,
    by: Labels = DCGM,
) -> list[Sample]:
    """Samples of a GPU or of a part of it."""
    key = by | {"UUID": uuid, "Hostname": on, "modelName": A100, **labels}
    return [Sample(metric, key, ms(at), value) for at in times]


def named(name: str, uid: str = "") -> Labels:
    """Labels that name a pod."""
    return {"namespace": "team", "pod": name} | ({"pod_uid": uid} if uid else {})


def states(book: Ledger, uuid: str | None = None, uid: str | None = None) -> Labels:
    """Seconds in each state, of one GPU or pod or of all; those that are not zero."""
    found = dict.fromkeys(STATES, 0)
    for (_, of, _, whose), fact in book.facts.items():
        if uuid in {None, of} and uid in {None, whose}:
            for state, amount in zip(STATES, fact.states, strict=True):
                found[state] += amount
    return {state: f"{amount / 1000:g}" for state, amount in found.items() if amount}


def held(book: Ledger) -> dict[str, tuple[float, float | None, str]]:
    """By pod uid: begin, end and how it ended."""
    return {
        hold.uid: (
            hold.start / 1000 - START,
            None if hold.ended is None else hold.ended / 1000 - START,
            hold.ended_by,
        )
        for hold in book.holds
    }
