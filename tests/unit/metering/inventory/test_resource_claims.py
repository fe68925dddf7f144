"""Resource claims, KAI's fractions and HAMi's parts (trap T21)."""

from fractions import Fraction

import pytest

from accounting.metering.rules.inventory.fractional_requests import annotated, requested
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    Inventory,
    PodRecord,
)
from accounting.metering.rules.inventory.resource_claims import Claims
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.gpu_units import NodeFacts

DRIVER = "gpu.nvidia.com"
MEMORY = NodeFacts({}, {"label_nvidia_com_gpu_memory": "81920"})


def pod(uid: str, **more: object) -> PodRecord:
    found = PodRecord(uid, "vision", uid, 0, 100, node="n1")
    for key, value in more.items():
        setattr(found, key, value)
    return found


def device(n: int, node: str = "n1", profile: str = "") -> Device:
    instance = n if profile else -1
    return Device(DRIVER, node, f"gpu-{n}", f"GPU-{n}", instance, profile)


def inventory(*pods: PodRecord, devices: set[Device]) -> Inventory:
    claim = ClaimRecord("vision", "c", devices)
    return Inventory(
        pods={each.uid: each for each in pods}, claims={("vision", "c"): claim}
    )


def test_a_claim_holds_its_devices() -> None:
    one = pod("a", claims={"c"})
    known = inventory(one, devices={device(0), device(1), device(2, node="n2")})
    [held] = Claims.of(known).held(one, NodeFacts(), {"a": (0, 100)})
    assert (held.resource, held.units, held.share) == (DRIVER, 2, Fraction(1))
    assert held.parts == (GpuPart("GPU-0"), GpuPart("GPU-1"))


def test_a_shared_claim_is_divided_over_those_who_have_it_at_the_time() -> None:
    one, two, late = (pod(uid, claims={"c"}) for uid in ("a", "b", "late"))
    known = inventory(one, two, late, devices={device(0)})
    spans = {"a": (0, 100), "b": (50, 150), "late": (100, 200)}
    claims = Claims.of(known)
    shares = {
        each.uid: claims.held(each, NodeFacts(), spans)[0].share
        for each in (one, two, late)
    }
    assert shares == {
        "a": Fraction(1, 2),
        "b": Fraction(1, 3),
        "late": Fraction(1, 2),
    }


def test_devices_of_several_kinds_are_several_holds() -> None:
    one = pod("a", claims={"c"})
    known = inventory(one, devices={device(0), device(3, profile="1g.10gb")})
    held = Claims.of(known).held(one, NodeFacts(), {"a": (0, 100)})
    assert [(h.resource, h.kind, h.share) for h in held] == [
        (DRIVER, "", Fraction(1)),
        (f"{DRIVER}/mig-1g.10gb", "1g.10gb", Fraction(1, 7)),
    ]


def test_a_claim_behind_an_extended_resource_is_counted_once() -> None:
    one = pod("a", requests={("main", "main", "nvidia.com/gpu"): 1}, claims={"c"})
    known = inventory(one, devices={device(0)})
    known.claims["vision", "c"].is_extended = True
    assert Claims.of(known).of_pod(one) == []


def test_a_claim_of_the_schedulers_name_is_behind_an_extended_resource() -> None:
    """T21: KEP-5004's names; beside a request it is counted once, alone it holds."""
    name = "a-extended-resources-x"
    asks = {("main", "main", "nvidia.com/gpu"): 1}
    one = pod("a", requests=asks, claims={name, "c"})
    known = inventory(one, devices={device(0)})
    known.claims["vision", name] = ClaimRecord("vision", name, {device(1)})
    assert [record.name for record in Claims.of(known).of_pod(one)] == ["c"]
    one.requests = {}
    assert [record.name for record in Claims.of(known).of_pod(one)] == [name, "c"]


def test_the_api_names_the_pods_of_a_claim() -> None:
    one = pod("a")
    known = inventory(one, devices={device(0)})
    known.claims["vision", "c"].pods = {"a"}
    assert len(Claims.of(known).of_pod(one)) == 1


def test_a_fraction_is_exact() -> None:
    assert annotated(pod("a", annotations={"gpu_fraction": "0.3"}), MEMORY) == (
        1,
        Fraction(3, 10),
    )
    of_memory = pod("a", annotations={"gpu_memory": "20480"})
    assert annotated(of_memory, MEMORY) == (1, Fraction(1, 4))
    several = {"gpu_fraction": "0.5", "gpu_fraction_num_devices": "2"}
    assert annotated(pod("a", annotations=several), MEMORY) == (2, Fraction(1, 2))


def test_what_is_no_fraction_holds_nothing() -> None:
    for text in ("", "1.5", "0", "-0.5", "nan", "1e-1", "=0.5", "0.5.5", "\u0663"):
        assert annotated(pod("a", annotations={"gpu_fraction": text}), MEMORY) is None


@pytest.mark.parametrize("odd", ["\u00b2", "9" * 5000, "-1", "0", "x", "1e3", "100"])
def test_a_number_of_devices_that_cannot_be_is_one(odd: str) -> None:
    """A superscript is a digit and no number; Python refuses 5,000 digits."""
    asks = {"gpu_fraction": "0.5", "gpu_fraction_num_devices": odd}
    assert annotated(pod("a", annotations=asks), MEMORY) == (1, Fraction(1, 2))


@pytest.mark.parametrize("odd", ["\u00b2", "9" * 5000, "-1", "0", "x", ""])
def test_memory_that_is_no_number_holds_nothing(odd: str) -> None:
    assert annotated(pod("a", annotations={"gpu_memory": odd}), MEMORY) is None


def test_cores_and_memory_limit_each_gpu() -> None:
    def asked(**requests: int) -> Fraction | None:
        names = {name: name.replace("_", "-") for name in requests}
        found = {
            ("main", "main", f"nvidia.com/{names[name]}"): units
            for name, units in requests.items()
        }
        return requested(pod("a", requests=found), MEMORY)

    assert asked(gpu=1) is None
    assert asked(gpu=1, gpucores=30) == Fraction(3, 10)
    assert asked(gpu=1, gpumem=20480) == Fraction(1, 4)
    assert asked(gpu=1, gpumem_percentage=50) == Fraction(1, 2)
    assert asked(gpu=1, gpucores=250) == 1
