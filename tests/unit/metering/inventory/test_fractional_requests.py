"""Parts of GPUs that pods ask for by other means than units: KAI and HAMi (trap T21).

Not here: what a fraction does to a GPU's time (traps).
"""

from fractions import Fraction

import numpy as np
import pytest

from accounting.metering.rules.holds.from_kube_state import derive_holds
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.fractional_requests import (
    annotated,
    annotated_share,
    is_reservation,
    requested,
    reservations,
    stand_ins,
)
from accounting.metering.rules.inventory.kube_state.visibility import kube_state
from accounting.metering.rules.inventory.labels import Labels
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    Inventory,
    NodeRecord,
    PodRecord,
    SampleSpan,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.gpu_units import NodeFacts

GPU, CORES, MEM = "nvidia.com/gpu", "nvidia.com/gpucores", "nvidia.com/gpumem"
PERCENT = "nvidia.com/gpumem-percentage"
LABELS = {"label_nvidia_com_gpu_memory": "40960"}
A100 = NodeFacts({GPU: 8}, LABELS)
KSM = ScraperIdentity("ksm")
RESERVED = "kai-resource-reservation"


def pod(
    uid: str = "u",
    *,
    namespace: str = "ns",
    node: str = "n",
    requests: dict[str, int] | None = None,
    annotations: dict[str, str] | None = None,
    groups: tuple[str, ...] = (),
) -> PodRecord:
    return PodRecord(
        uid,
        namespace,
        f"pod-{uid}",
        0,
        570_000,
        {KSM},
        node,
        node_first_ms=0,
        created_ms=-1000,
        requests={("main", "c", r): n for r, n in (requests or {}).items()},
        annotations=annotations or {},
        labels=[(0, {"label_runai_gpu_group": group}) for group in groups],
    )


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"gpu_fraction": "0.5"}, (1, Fraction(1, 2))),
        ({"gpu_fraction": "1"}, (1, Fraction(1))),
        ({"gpu_fraction": "0.25", "gpu_fraction_num_devices": "2"}, (2, Fraction(1, 4))),
        ({"gpu_fraction": "0.25", "gpu_fraction_num_devices": "99"}, (99, Fraction(1, 4))),
        ({"gpu_fraction": "0.25", "gpu_fraction_num_devices": "100"}, (1, Fraction(1, 4))),
        ({"gpu_fraction": "0.25", "gpu_fraction_num_devices": "x"}, (1, Fraction(1, 4))),
        ({"gpu_memory": "10240"}, (1, Fraction(1, 4))),
        ({"gpu_memory": "10240", "gpu_fraction": "0.5"}, (1, Fraction(1, 2))),
        ({"gpu_fraction": "1.5"}, None),  # nobody can have that
        ({"gpu_fraction": "0"}, None),
        ({"gpu_fraction": "-0.5"}, None),
        ({"gpu_fraction": "1/2"}, None),
        ({"gpu_fraction": "0.5.0"}, None),
        ({"gpu_fraction": "0.12345678"}, (1, Fraction(12345678, 100000000))),
        ({"gpu_fraction": "0.123456789"}, None),  # longer than anybody writes
        ({}, None),
    ],
)  # fmt: skip
def test_annotations_name_devices_and_a_share_of_each(
    annotations: dict[str, str], expected: tuple[int, Fraction] | None
) -> None:
    """T21: KAI's fractions; memory is MiB of a GPU's 40960."""
    assert annotated(pod(annotations=annotations), A100) == expected


def test_share_above_one_is_known_and_memory_needs_the_gpus() -> None:
    assert annotated_share(pod(annotations={"gpu_fraction": "1.5"}), A100) == Fraction(
        3, 2
    )
    memory = pod(annotations={"gpu_memory": "81920"})
    assert annotated_share(memory, A100) == 2
    assert annotated_share(memory, NodeFacts()) is None


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ({GPU: 1}, None),
        ({GPU: 1, CORES: 30}, Fraction(3, 10)),
        ({GPU: 1, CORES: 150}, Fraction(1)),
        ({GPU: 1, PERCENT: 25}, Fraction(1, 4)),
        ({GPU: 1, CORES: 30, PERCENT: 50, MEM: 4096}, Fraction(3, 10)),
        ({GPU: 1, MEM: 10240}, Fraction(1, 4)),
        ({GPU: 1, MEM: 81920}, Fraction(1)),  # never more than the GPU
        ({GPU: 1, PERCENT: 200}, Fraction(1)),
    ],
)
def test_requests_limit_each_gpu(asked: dict[str, int], share: Fraction | None) -> None:
    """T21: HAMi's cores in percent, else memory."""
    assert requested(pod(requests=asked), A100) == share


def test_memory_of_a_gpu_that_nobody_knows_limits_nothing() -> None:
    assert requested(pod(requests={GPU: 1, MEM: 10240}), NodeFacts()) is None
    two = pod(requests={GPU: 1, CORES: 10})
    two.requests["main", "d", CORES] = 40
    assert requested(two, A100) == Fraction(2, 5)


def test_reservation_pod_of_the_node_and_group_stands_in() -> None:
    """T21: both carry the label of one GPU group."""
    asks = pod(groups=("g1",))
    others = [
        pod("r1", namespace=RESERVED, groups=("g1",)),
        pod("r2", namespace=RESERVED, groups=("g2",)),
        pod("r3", namespace=RESERVED, node="m", groups=("g1",)),
        pod("r4", groups=("g1",)),
        pod("r5", namespace="runai-reservation", groups=("g0", "g1")),
    ]
    inventory = Inventory(pods={p.uid: p for p in [asks, *others]})
    reserved = reservations(inventory)
    assert [p.uid for p in stand_ins(asks, reserved)] == ["r1", "r5"]
    assert stand_ins(pod(), reserved) == ()
    assert is_reservation(RESERVED)
    assert not is_reservation("ns")


class Read(dict[str, PodRecord]):
    """Pods, and how often all of them were read."""

    times = 0

    def values(self):  # type: ignore[no-untyped-def]  # as of `dict`
        """Counted."""
        self.times += 1
        return super().values()


def test_all_pods_are_read_as_often_for_many_parts_as_for_one() -> None:
    def reads(count: int) -> int:
        half = {"gpu_fraction": "0.5"}
        pods = [pod(f"u{n}", annotations=half, groups=("g",)) for n in range(count)]
        read = Read({p.uid: p for p in pods})
        inventory = Inventory(pods=read)
        assert derive_holds(inventory, kube_state(inventory), Labels(), 600_000)
        return read.times

    assert reads(20) == reads(1)


# --- holds ---------------------------------------------------------------------------


def holds(
    *pods: PodRecord,
    labels: dict[str, str] | None = None,
    claims: dict[tuple[str, str], ClaimRecord] | None = None,
) -> list[Hold]:
    times = np.arange(0, 600, 30, dtype=np.int64) * 1000
    node = NodeRecord(
        "n",
        [SampleSpan(0, 570_000, 30_000)],
        [(0, {GPU: 8})],
        [(0, LABELS | (labels or {}))],
    )
    inventory = Inventory(
        pods={p.uid: p for p in pods},
        nodes={"n": node},
        claims=claims or {},
        scrapers={KSM: ScraperRecord(KSM, kube_times=times)},
    )
    return derive_holds(inventory, kube_state(inventory), Labels(), 600_000)


def test_fraction_is_a_hold_of_a_part_and_the_reservation_is_none() -> None:
    """T21: labels of the reservation pod speak for the pod whose fraction it is."""
    asks = pod(annotations={"gpu_fraction": "0.5"}, groups=("g1",))
    reserves = pod("r1", namespace=RESERVED, requests={GPU: 1}, groups=("g1",))
    [hold] = holds(asks, reserves)
    assert (hold.uid, hold.resource, hold.units, hold.share) == (
        "u",
        GPU,
        1,
        Fraction(1, 2),
    )
    assert hold.names == ((RESERVED, "pod-r1", "r1"),)
    assert not hold.is_unit  # it takes none of the node's units
    assert (hold.bound_ms, hold.booked_until_ms, hold.ended_ms) == (0, 600_000, None)
    assert hold.created_ms == -1000


def test_annotation_beside_a_request_is_none() -> None:
    [hold] = holds(pod(requests={GPU: 2}, annotations={"gpu_fraction": "0.5"}))
    assert (hold.units, hold.share, hold.is_unit, hold.names) == (
        2,
        Fraction(1),
        True,
        (),
    )


def test_hold_by_hami_has_the_share_of_its_cores() -> None:
    [hold] = holds(pod(requests={GPU: 2, CORES: 30}))
    assert (hold.resource, hold.units, hold.share) == (GPU, 2, Fraction(3, 10))
    assert hold.is_unit


def test_hold_of_replicas_is_shared() -> None:
    """N17: several units stand for one GPU."""
    assert not holds(pod(requests={GPU: 1}))[0].is_shared
    [hold] = holds(
        pod(requests={GPU: 1}), labels={"label_nvidia_com_gpu_replicas": "4"}
    )
    assert (hold.is_shared, hold.share) == (True, Fraction(1, 4))


def test_claim_is_a_hold_of_its_devices_divided_over_those_who_have_it() -> None:
    """N13: by the API; two pods have it at one time."""
    device = Device("gpu.nvidia.com", "n", "gpu-0", "GPU-0", 2, "1g.5gb")
    claims = {("ns", "c"): ClaimRecord("ns", "c", {device}, is_observed=True)}
    product = {"label_nvidia_com_gpu_product": "NVIDIA-A100-SXM4-40GB"}
    pods = [pod("u"), pod("v")]
    for each in pods:
        each.claims = {"c"}
    first, second = holds(*pods, labels=product, claims=claims)
    assert (first.uid, second.uid) == ("u", "v")
    assert first.resource == "gpu.nvidia.com/mig-1g.5gb"
    assert (first.units, first.share, first.kind) == (1, Fraction(1, 14), "1g.5gb")
    assert first.parts == (GpuPart("GPU-0", 2, "1g.5gb"),)
    assert not first.is_unit
    pods[1].scheduled_ms = 600_000  # after the first one's last sample
    assert [h.share for h in holds(*pods, labels=product, claims=claims)] == [
        Fraction(1, 7)
    ] * 2


def test_pod_without_a_node_or_a_request_holds_nothing() -> None:
    assert holds(pod(node="", requests={GPU: 1}), pod("v")) == []


def test_holds_are_by_node_bind_uid_and_resource() -> None:
    both = {GPU: 1, "nvidia.com/mig-1g.5gb": 1}
    late = pod("a", requests={GPU: 1})
    late.scheduled_ms = 5000
    found = holds(late, pod("c", requests=both), pod("b", requests={GPU: 1}))
    assert [(h.uid, h.resource) for h in found] == [
        ("b", GPU),
        ("c", GPU),
        ("c", "nvidia.com/mig-1g.5gb"),
        ("a", GPU),
    ]
