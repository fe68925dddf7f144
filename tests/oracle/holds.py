"""Who held GPUs, and which, by rules.md N10-N13 and N17."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tests.oracle.evidence import Evidence, Proof
from tests.oracle.kube import Pod
from tests.oracle.presences import lives_of
from tests.oracle.samples import PARTITIONS, Label, Place
from tests.oracle.units import AMD, Said, kind_of, unit_share

Whose = tuple[str, Label, str, int | None]  # node, pod, profile, kube-state's return


@dataclass
class Hold:
    """Units of a resource kept by a pod in [start, end); `ended` None while it lasts."""

    uid: str
    namespace: str
    name: str
    node: str
    units: int
    created: int | None
    start: int
    end: int
    ended: int | None
    ended_by: str
    last: int  # its last kube-state sample
    is_absent: bool = False  # ended by absence
    inferred_from: int | None = None  # kept or made by labels from here on (N13)
    resource: str = "nvidia_com_gpu"
    share: Fraction = Fraction(1)  # of a GPU, of one unit
    kind: str = ""  # a profile, or empty for whole GPUs and replicas (N18)
    places: list[Place] = field(default_factory=list)  # by labels (N17)


# --- holds -------------------------------------------------------------------------


def holds(evidence: Evidence) -> list[Hold]:
    """Every hold, with the GPUs that labels give it."""
    found = [h for pod in evidence.pods.values() for h in _kube_holds(evidence, pod)]
    for node, resource in sorted({(hold.node, hold.resource) for hold in found}):
        alike = [h for h in found if (h.node, h.resource) == (node, resource)]
        _make_room(evidence, alike)
    found += _label_holds(evidence)
    if evidence.retired is not None:
        found = [hold for hold in found if hold.start < evidence.retired]
        for hold in found:
            _retire(hold, evidence.retired)
    for hold in found:
        if hold.start < hold.end:
            hold.places = _places_of(evidence, hold)
    return found


def _retire(hold: Hold, at: int) -> None:
    """The end of a cluster ends what is still held there (N38)."""
    if hold.ended is None or hold.ended > at:
        hold.end, hold.ended, hold.ended_by = min(hold.end, at), at, "retired"


def _kube_holds(evidence: Evidence, pod: Pod) -> Iterable[Hold]:
    for resource, units in pod.units.items() if pod.node else ():
        yield _kube_hold(evidence, pod, resource, units)


def _kube_hold(evidence: Evidence, pod: Pod, resource: str, units: int) -> Hold:
    start, last = pod.start, max(pod.seen)
    for proof in evidence.proofs if pod.terminal else ():
        label = proof.label
        if label is None or label[:2] != (pod.namespace, pod.name):
            continue
        is_of_it = proof.node == pod.node and label.uid in {"", pod.uid}
        if is_of_it and pod.terminal and start <= proof.at < pod.terminal[0]:
            pod.named.add(proof.at)
    step = evidence.step_of_scrapers(pod.seen[last], last)
    ends: list[tuple[int, int, str]] = []
    if pod.terminal is not None:
        ended = pod.completion[1] if pod.completion else pod.terminal[0]
        ends.append((ended, 0, pod.terminal[1]))
    if any(at > last for at in evidence.lacking(pod.seen)):
        ends.append((last + step, 1, "gone"))
    shown = max(pod.nodes[pod.node])
    for life in lives_of(evidence, pod.node):
        if life.end is not None and life.end > shown:
            ends.append((life.end, 1, "gone"))
    hold = Hold(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        node=pod.node,
        units=units,
        created=pod.created,
        start=start,
        end=0,
        ended=None,
        ended_by="",
        last=last,
        resource=resource,
        share=unit_share(resource, evidence.said(pod.node, start)),
        kind=kind_of(resource, evidence.said(pod.node, start)),
    )
    if pod.is_refused:
        hold.end = hold.ended = start
        hold.ended_by = "Failed"
    elif not ends:
        unseen = next((e for s, e in evidence.seen if s <= last < e), last + step)
        # a shard of other objects that is back does not show an end
        hold.end = max(unseen, _kept_until(evidence, hold, unseen, None))
        if hold.end > unseen:
            hold.inferred_from = unseen
    else:
        end, _, reason = min(ends)
        hold.end, hold.ended_by = max(end, start), reason
        hold.is_absent = reason == "gone"
        if hold.is_absent and not evidence.is_seen(hold.end):
            _keep_by_label(evidence, hold)
        hold.ended = hold.end
    return hold


def _keep_by_label(evidence: Evidence, hold: Hold) -> None:
    """A label keeps a hold that was there when kube-state was last seen (N13)."""
    back = evidence.seen_again(hold.end)
    kept = _kept_until(evidence, hold, hold.end, back)
    if kept > hold.end:
        hold.inferred_from, hold.end = hold.end, kept


def _kept_until(evidence: Evidence, hold: Hold, since: int, back: int | None) -> int:
    """One step after the last sample with its label, before kube-state is back."""
    ends = [
        proof.at + proof.step
        for proof in evidence.proofs
        if proof.node == hold.node
        and is_of(evidence, proof, hold)
        and counts(evidence, proof)
        and proof.at >= hold.start
        and (back is None or proof.at < back)
    ]
    latest = max(ends, default=since)
    return latest if back is None else min(latest, back)


def names(label: Label | None, hold: Hold) -> bool:
    """True when a label names this pod: by uid where it carries one (N22)."""
    if label is None or (label.namespace, label.pod) != (hold.namespace, hold.name):
        return False
    return not label.uid or label.uid == hold.uid


def is_of(evidence: Evidence, proof: Proof, hold: Hold) -> bool:
    """True when a sample's label is that of this hold (N13, N17).

    One without uid is that of the hold of that name bound last before the sample.
    """
    label = proof.label
    if label is None or not names(label, hold):
        return False
    if label.uid or hold.uid not in evidence.pods:  # that one is made by labels
        return True
    binds = evidence.binds[label.namespace, label.pod]
    before = [bind for bind in binds if bind[0] <= proof.at]
    return bool(before) and hold.uid == max(before)[1]


def _make_room(evidence: Evidence, here: list[Hold]) -> None:
    """At each bind: end absent holds that the node has no room for any more (N11)."""
    node, resource = here[0].node, here[0].resource
    for i, new in enumerate(sorted(here, key=lambda h: (h.start, h.uid))):
        room = evidence.said(node, new.start).capacity.get(resource)
        if room is None:
            continue
        bound = sorted(here, key=lambda h: (h.start, h.uid))[: i + 1]
        while True:
            held = [h for h in bound if h.start <= new.start < h.end]
            leaving = sorted(
                (h.last, h.uid, h)
                for h in held
                if h.is_absent and h is not new and h.last < new.start
            )
            if sum(h.units for h in held) <= room or not leaving:
                break
            hold = leaving[0][2]
            hold.end = hold.ended = new.start
            if hold.inferred_from is not None and hold.inferred_from >= hold.end:
                hold.inferred_from = None


def _label_holds(evidence: Evidence) -> list[Hold]:
    """Pods that kube-state never shows, named while it is not seen (N13)."""
    found: dict[Whose, list[Proof]] = defaultdict(list)
    for proof in evidence.proofs:
        label = proof.label
        if label is None or evidence.is_seen(proof.at):
            continue
        if not _is_shown(evidence, proof.node, label) and counts(evidence, proof):
            back = evidence.seen_again(proof.at)
            profile = proof.place.part.profile
            found[proof.node, label, profile, back].append(proof)
    return [_label_hold(evidence, whose, proofs) for whose, proofs in found.items()]


def _is_shown(evidence: Evidence, node: str, label: Label) -> bool:
    """True for a pod that kube-state ever shows on a node; Pending is on none (N13)."""
    if label.uid:
        pod = evidence.pods.get(label.uid)
        return pod is not None and node in pod.nodes
    return (node, label.namespace, label.pod) in evidence.shown_on


def _label_hold(evidence: Evidence, whose: Whose, proofs: list[Proof]) -> Hold:
    """What labels name on one node until kube-state is back: a hold of its own (N13)."""
    node, label, _, back = whose
    start = min(proof.at for proof in proofs)
    end = max(proof.at + proof.step for proof in proofs)
    end = end if back is None else min(end, back)
    places = {proof.place for proof in proofs}
    is_over = back is not None or end < evidence.end
    said = evidence.said(node, start)
    resource = unit_at(min(places), said)
    return Hold(
        uid=label.uid or f"{label.namespace}/{label.pod}",
        namespace=label.namespace,
        name=label.pod,
        node=node,
        units=len(places),
        created=None,
        start=start,
        end=end,
        ended=end if is_over else None,
        ended_by="gone" if is_over else "",
        last=start,
        inferred_from=start,
        resource=resource,
        share=unit_share(resource, said),
        kind=kind_of(resource, said),
    )


def unit_at(place: Place, said: Said) -> str:
    """The resource that a unit at a place is of."""
    is_amd = said.capacity.get(AMD) or place.part.profile in PARTITIONS
    if is_amd:
        return AMD
    if place.part.profile and not said.profile:
        return "nvidia_com_mig_" + place.part.profile.replace(".", "_")
    is_renamed = said.capacity.get("nvidia_com_gpu_shared", 0) > 0
    return "nvidia_com_gpu_shared" if is_renamed else "nvidia_com_gpu"


def _places_of(evidence: Evidence, hold: Hold) -> list[Place]:
    """The places whose samples carry the pod's label within the hold (N17)."""
    named: dict[Place, set[int]] = defaultdict(set)
    for proof in evidence.proofs:
        is_inside = hold.start <= proof.at < hold.end and proof.node == hold.node
        if not is_inside or not counts(evidence, proof):
            continue
        if is_of(evidence, proof, hold):
            named[proof.place].add(proof.at)
    most = sorted(named, key=lambda place: (-len(named[place]), place))
    return most[: hold.units]


def counts(evidence: Evidence, proof: Proof) -> bool:
    """On a shared GPU a label counts with `vgpu`, or where several pods are named (N17)."""
    if evidence.said(proof.node, proof.at).replicas == 1 or proof.place.vgpu:
        return True
    named = evidence.named[proof.uuid, proof.place.part, proof.at]
    with_uid = {label[:2] for label in named if label.uid}
    pods = [label for label in named if label.uid or label[:2] not in with_uid]
    return len(pods) > 1
