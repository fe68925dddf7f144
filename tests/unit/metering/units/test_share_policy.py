"""Which share of a part counts: compute, memory or the dominant one (traps T12, T13)."""

from fractions import Fraction

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.pool_filling import Holder, weighed
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.mig_profiles import Policy
from accounting.metering.rules.units.share_policy import (
    factors_of,
    memory_of,
    policy_at,
)

A100 = "NVIDIA-A100-SXM4-40GB"
ONE, THREE = GpuPart("G", 1, "1g.5gb"), GpuPart("G", 2, "3g.20gb")
COMPUTE = {ONE: Fraction(1, 7), THREE: Fraction(3, 7)}
MEMORY = {ONE: Fraction(1, 8), THREE: Fraction(4, 8)}


def test_policy_is_that_of_the_instant() -> None:
    policies = [(100, Policy.MEMORY), (200, Policy.COMPUTE)]
    known = [policy_at(policies, at) for at in (99, 100, 199, 200)]
    assert known == [Policy.COMPUTE, Policy.MEMORY, Policy.MEMORY, Policy.COMPUTE]
    assert policy_at((), 100) == Policy.COMPUTE


def test_memory_shares_are_those_of_the_profile_table() -> None:
    """T12: 1g.5gb is one seventh of the compute and one eighth of the memory."""
    parts = ((1, "1g.5gb"), (2, "3g.20gb"), (3, ""), (4, "9g.99gb"))
    assert memory_of("G", parts, A100) == MEMORY
    assert memory_of("G", (), A100) == {}


def test_compute_and_whole_gpus_need_no_factor() -> None:
    assert factors_of(COMPUTE, MEMORY, Policy.COMPUTE) == {}
    assert factors_of({GpuPart("G"): Fraction(1)}, {}, Policy.MEMORY) == {}


def test_factor_turns_the_compute_share_into_the_memory_share() -> None:
    found = factors_of(COMPUTE, MEMORY, Policy.MEMORY)
    assert found == {ONE: Fraction(7, 8), THREE: Fraction(7, 6)}


def test_weights_of_more_than_a_gpu_are_scaled_to_it() -> None:
    """T13: shares add up to one GPU at most."""
    compute = {ONE: Fraction(3, 7), THREE: Fraction(4, 7)}
    memory = {ONE: Fraction(1), THREE: Fraction(1)}
    found = factors_of(compute, memory, Policy.MEMORY)
    assert {part: found[part] * compute[part] for part in compute} == {
        ONE: Fraction(1, 2),
        THREE: Fraction(1, 2),
    }


@pytest.mark.parametrize("has_stranded", [True, False])
def test_weighed_segment_strands_what_its_parts_leave(has_stranded: bool) -> None:
    """T13: 1/8 and 4/8 of the memory leave 3/8; a GPU without factors keeps its own."""
    segment = Segment(
        period=Interval(0, 100),
        parts={**COMPUTE, GpuPart("H"): Fraction(1)},
        stranded={
            "G": Fraction(3, 7),
            **({"I": Fraction(1, 7)} if has_stranded else {}),
        },
        mapped={},
        pools={},
        is_seen=True,
        factors=factors_of(COMPUTE, MEMORY, Policy.MEMORY),
    )
    holders = {
        ONE: (Holder("u", Fraction(1, 14), 4),),
        GpuPart("H"): (Holder("v", Fraction(1)),),
    }
    found, held = weighed(segment, holders)
    assert found.parts == {**MEMORY, GpuPart("H"): 1}
    left = {"G": Fraction(3, 8)} | ({"I": Fraction(1, 7)} if has_stranded else {})
    assert found.stranded == left
    assert held == {
        ONE: (Holder("u", Fraction(1, 16), 4),),
        GpuPart("H"): (Holder("v", Fraction(1)),),
    }


def test_gpu_that_is_full_strands_nothing() -> None:
    both = {ONE: Fraction(1, 2), THREE: Fraction(1, 2)}
    segment = Segment(
        Interval(0, 1), COMPUTE, {"G": Fraction(3, 7)}, {}, {}, is_seen=True,
        factors=factors_of(COMPUTE, both, Policy.MEMORY),
    )  # fmt: skip
    assert weighed(segment, {})[0].stranded == {}
