"""How GPUs are divided over time, and what their instances leave (rules.md "MIG")."""

from fractions import Fraction

import numpy as np

from accounting.metering.rules.samples.series import GpuKey
from accounting.metering.rules.units.geometry import (
    GpuPart,
    observed,
    part_in,
    shares_of,
)

A100 = "NVIDIA-A100-SXM4-80GB"
GPU = "GPU-1"


def at(*times: int) -> np.ndarray:
    return np.array(times, np.int64)


def test_the_last_scrape_tells_until_one_shows_another() -> None:
    shown = {
        GpuPart(GPU): [at(0, 30)],
        GpuPart(GPU, 1, "3g.40gb"): [at(60, 90)],
        GpuPart(GPU, 2, "3g.40gb"): [at(60, 90)],
        GpuPart(GPU, 1, "7g.80gb"): [at(120)],
    }
    assert observed(shown) == [
        (0, ()),
        (60, ((1, "3g.40gb"), (2, "3g.40gb"))),
        (120, ((1, "7g.80gb"),)),
    ]


def test_a_row_of_the_whole_beside_instances_is_no_part() -> None:
    shown = {GpuPart(GPU): [at(0, 30)], GpuPart(GPU, 7, "1g.10gb"): [at(0, 30)]}
    assert observed(shown) == [(0, ((7, "1g.10gb"),))]


def test_what_instances_leave_is_stranded() -> None:
    """T13a: two of three slices leave a seventh."""
    parts, left = shares_of(GPU, ((1, "3g.40gb"), (2, "3g.40gb")), A100)
    assert set(parts.values()) == {Fraction(3, 7)}
    assert left == Fraction(1, 7)
    parts, left = shares_of(GPU, tuple((n, "1g.10gb") for n in range(7)), A100)
    assert left == 0
    assert sum(parts.values()) == 1


def test_what_cannot_be_is_no_part() -> None:
    parts, left = shares_of(GPU, ((1, "9g.99gb"), (2, "1g.10gb")), A100)
    assert parts == {GpuPart(GPU, 2, "1g.10gb"): Fraction(1, 7)}
    assert left == Fraction(6, 7)


def test_more_than_a_gpu_is_scaled_to_it() -> None:
    parts, left = shares_of(GPU, ((1, "7g.80gb"), (2, "7g.80gb")), A100)
    assert set(parts.values()) == {Fraction(1, 2)}
    assert left == 0


def test_a_series_speaks_of_a_gpu_or_of_an_instance() -> None:
    assert part_in(GpuKey(GPU, "n1")) == GpuPart(GPU, -1, "")
    instance = GpuKey(GPU, "n1", instance="7", profile="1G.10GB.ME")
    assert part_in(instance) == GpuPart(GPU, 7, "1g.10gb+me")


def test_a_gpu_that_was_never_divided_is_whole_from_its_first_sample_on() -> None:
    assert observed({GpuPart(GPU): [at(60, 90), at(30)]}) == [(30, ())]
    assert observed({}) == observed({GpuPart(GPU): [at()]}) == []
    assert shares_of(GPU, (), A100) == ({GpuPart(GPU): Fraction(1)}, Fraction(0))


def test_an_instance_without_a_profile_is_no_part() -> None:
    assert shares_of(GPU, ((1, ""),), A100) == ({}, Fraction(1))
