"""Which GPUs a hold has (rules N17)."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from accounting.metering.rules.holds.gpu_assignment import (
    claimed_parts,
    mapped_places,
    named_times,
)
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.labels import LabeledSlot, Labels
from accounting.metering.rules.inventory.records import Naming
from accounting.metering.rules.samples.series import PodName
from accounting.metering.rules.units.geometry import GpuPart

HOLD = Hold(
    uid="u",
    namespace="ns",
    pod="a",
    node="n",
    resource="nvidia.com/gpu",
    units=2,
    share=Fraction(1),
    created_ms=None,
    bound_ms=100,
    ended_ms=200,
    booked_until_ms=200,
)
MIG = "1g.5gb"


def labels(*places: tuple[str, list[int]], pod: str = "a") -> Labels:
    found = Labels()
    for uuid, times in places:
        put(found, GpuPart(uuid), times, pod=pod)
    return found


def put(
    found: Labels, part: GpuPart, times: list[int], *, vgpu: str = "", pod: str = "a"
) -> None:
    shown = Naming(np.array(times, np.int64), np.full(len(times), 10, np.int32))
    found.put(LabeledSlot(part, "n", vgpu, PodName("ns", pod), shown))


def uuids(hold: Hold, found: Labels) -> list[str]:
    return [part.uuid for part, _ in mapped_places(hold, found)]


def test_most_named_gpus_come_first_and_no_more_than_units() -> None:
    """N17: at most its units; ties by UUID."""
    found = labels(("A", [110]), ("C", [110, 120]), ("B", [130, 140]), ("D", [110]))
    assert uuids(HOLD, found) == ["B", "C"]
    assert uuids(replace(HOLD, units=3), found) == ["B", "C", "A"]
    assert uuids(replace(HOLD, units=9), found) == ["B", "C", "A", "D"]


def test_only_samples_within_the_hold_count() -> None:
    """N17: from its bind on, to its end and not at it."""
    found = labels(("A", [0, 99, 200, 300]), ("B", [100]), ("C", [199]), ("D", []))
    assert uuids(HOLD, found) == ["B", "C"]


def test_distinct_times_count_over_all_labels_of_a_place() -> None:
    """N17: two series of one GPU at one time are one."""
    found = labels(("A", [110, 120]), ("A", [110, 120]), ("B", [110, 120, 130]))
    assert uuids(replace(HOLD, units=1), found) == ["B"]
    found = labels(("A", [110, 120]), ("A", [130, 140]), ("B", [110, 120, 130]))
    assert uuids(replace(HOLD, units=1), found) == ["A"]


def test_virtual_gpus_of_one_gpu_are_places_of_their_own() -> None:
    """N17: one (GPU or instance, vgpu) stands for one unit."""
    found = Labels()
    for vgpu in "10":
        put(found, GpuPart("A"), [110], vgpu=vgpu)
    assert mapped_places(HOLD, found) == [(GpuPart("A"), "0"), (GpuPart("A"), "1")]


def test_pod_with_several_resources_has_places_of_their_kind() -> None:
    """N18: an instance is no unit of whole GPUs."""
    found = Labels()
    put(found, GpuPart("A"), [110])
    put(found, GpuPart("B", 1, MIG), [110, 120])
    assert mapped_places(HOLD, found, is_only=False) == [(GpuPart("A"), "")]
    both = [(GpuPart("B", 1, MIG), ""), (GpuPart("A"), "")]
    assert mapped_places(HOLD, found) == both
    part = replace(HOLD, kind=MIG)
    assert mapped_places(part, found, is_only=False) == both[:1]


def test_parts_of_a_claim_need_no_label() -> None:
    """N13: the API says which devices a claim was given; at most its units."""
    parts = (GpuPart("X"), GpuPart("Y"), GpuPart("Z"))
    held = replace(HOLD, parts=parts)
    assert mapped_places(held, labels(("A", [110]))) == [
        (GpuPart("X"), ""),
        (GpuPart("Y"), ""),
    ]


def test_what_a_pod_claims_is_no_place_of_its_request() -> None:
    """N17: the devices of a claim carry the pod's label as well."""
    claim = replace(HOLD, units=1, parts=(GpuPart("A"),))
    request = replace(HOLD, units=1)
    other = replace(HOLD, uid="v", parts=(GpuPart("B"),))
    claimed = claimed_parts([claim, request, other])
    assert claimed == {"u": {GpuPart("A")}, "v": {GpuPart("B")}}
    found = labels(("A", [110, 120]), ("B", [110]))
    places = mapped_places(request, found, claimed=claimed["u"])
    assert places == [(GpuPart("B"), "")]
    both = replace(claim, parts=(GpuPart("A"), GpuPart("C")))
    assert claimed_parts([claim, both]) == {"u": {GpuPart("A"), GpuPart("C")}}


def test_labels_of_a_reservation_pod_speak_for_the_hold() -> None:
    """KAI: the samples name the pod that reserves the GPU."""
    found = labels(("A", [110]), pod="reservation")
    assert uuids(HOLD, found) == []
    assert uuids(replace(HOLD, names=(("ns", "reservation", "r"),)), found) == ["A"]


def test_label_on_a_shared_gpu_counts_only_beside_others() -> None:
    """N17, T16."""
    shared = replace(HOLD, is_shared=True)
    found = labels(("A", [110, 120]))
    assert uuids(shared, found) == []
    put(found, GpuPart("A"), [120], pod="b")
    found = Labels(_by_name=found._by_name, _by_part=found._by_part)
    assert uuids(shared, found) == ["A"]


def test_samples_of_other_hours_count_too() -> None:
    """N17: at any time of the hold; what is kept of other hours is added."""
    found = labels(("A", [110, 120]), ("B", [110, 120, 130]))
    elsewhere = {(GpuPart("A"), ""): 2, (GpuPart("C"), ""): 5, (GpuPart("D"), ""): 0}
    assert uuids(replace(HOLD, named=elsewhere), found) == ["C", "A"]
    assert uuids(replace(HOLD, units=9, named=elsewhere), found) == ["C", "A", "B"]
    assert uuids(replace(HOLD, named=elsewhere), Labels()) == ["C", "A"]
    claimed = mapped_places(
        replace(HOLD, named=elsewhere), found, claimed=frozenset({GpuPart("C")})
    )
    assert [part.uuid for part, _ in claimed] == ["A", "B"]


def test_named_times_are_distinct_and_of_the_hold() -> None:
    found = labels(("A", [99, 110, 120]), ("A", [120, 200]), ("B", [0]))
    times = {place: at.tolist() for place, at in named_times(HOLD, found).items()}
    assert times == {(GpuPart("A"), ""): [110, 120]}
