"""MIG profiles by model: shares, most per GPU, and the choice of one number (T12, T13)."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from accounting.metering.rules.units.mig_profiles import (
    Policy,
    Profile,
    fault_of,
    is_read_by_numbers,
    known_name,
    normal,
    parse,
    profiles_of,
    shape_of,
    slices_of,
    weights,
)

A100 = "NVIDIA-A100-SXM4-80GB"
READ = Path(__file__).resolve().parents[3] / "data" / "nvml"


@pytest.mark.parametrize(
    ("profile", "model", "compute", "memory", "most"),
    [
        ("1g.10gb", A100, Fraction(1, 7), Fraction(1, 8), 7),
        ("1g.10gb", "NVIDIA-A100-SXM4-40GB", Fraction(1, 7), Fraction(2, 8), 4),
        ("1g.10gb", "nvidia-tesla-a100", Fraction(1, 7), Fraction(2, 8), 4),  # GKE's
        ("1g.10gb", "nvidia-a100-80gb", Fraction(1, 7), Fraction(1, 8), 7),
        ("1g.24gb", "NVIDIA-H100-NVL", Fraction(1, 7), Fraction(2, 8), 4),
        (
            "1g.24gb",
            "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
            Fraction(1, 4),
            Fraction(1, 4),
            4,
        ),
        ("1g.6gb", "NVIDIA-A30", Fraction(1, 4), Fraction(1, 4), 4),
        ("1g.35gb", "NVIDIA-H200", Fraction(1, 7), Fraction(2, 8), 4),
        ("1g.35gb", "NVIDIA-GB300", Fraction(1, 7), Fraction(1, 8), 7),
        ("2g.35gb", "NVIDIA-H200", Fraction(2, 7), Fraction(2, 8), 3),
        ("3g.48gb", "NVIDIA-GH200-480GB", Fraction(3, 7), Fraction(4, 8), 2),
        ("1g.18gb", "NVIDIA-GH200-144G-HBM3e", Fraction(1, 7), Fraction(1, 8), 7),
        ("1g.12gb", "NVIDIA-H20", Fraction(1, 7), Fraction(1, 8), 7),
        ("7g.180gb", "NVIDIA-B200", Fraction(1), Fraction(1), 1),
        ("3g.95gb", "NVIDIA-GB200", Fraction(3, 7), Fraction(4, 8), 2),
        ("3g.40gb", f"{A100}-MIG-3g.40gb", Fraction(3, 7), Fraction(4, 8), 2),
        ("1g.10gb", f"{A100}-MIG-1g.10gb-SHARED", Fraction(1, 7), Fraction(1, 8), 7),
        ("1g.10gb+me", A100, Fraction(1, 7), Fraction(1, 8), 1),
        ("1g.10gb.me", A100, Fraction(1, 7), Fraction(1, 8), 1),
        ("1c.3g.40gb", "NVIDIA-H100-80GB-HBM3", Fraction(1, 7), Fraction(1, 6), 2),
    ],
)
def test_model_and_profile_decide(
    profile: str, model: str, compute: Fraction, memory: Fraction, most: int
) -> None:
    shape = shape_of(profile, model)
    assert shape is not None
    assert (shape.compute, shape.memory, shape.most) == (compute, memory, most)
    assert shape.is_known


@pytest.mark.parametrize("card", ["h100", "h200"])
def test_table_equals_what_the_driver_of_a_real_gpu_reports(card: str) -> None:
    """tests/data/nvml/ORIGIN.md says how it was read."""
    gpu = json.loads((READ / f"{card}.json").read_text())
    reported = {}
    for profile in gpu["profiles"]:
        eighths = round(8 * profile["memory_mib"] / gpu["memory_mib"])
        shares = Fraction(profile["slices"], 7), Fraction(eighths, 8)
        reported[profile["name"]] = (*shares, profile["instances"], True)
    in_table = {}
    for name in reported:
        shape = shape_of(name, gpu["model"])
        assert shape is not None
        in_table[name] = (shape.compute, shape.memory, shape.most, shape.is_known)
    assert in_table == reported
    names = {name for name, _ in profiles_of(gpu["model"])}
    assert names == {name for name in reported if "+" not in name}


def test_a_model_outside_the_table_has_profiles_by_their_numbers() -> None:
    odd = shape_of("2g.99gb", A100)
    assert odd is not None
    assert (odd.compute, odd.memory, odd.most) == (Fraction(2, 7), Fraction(2, 8), 3)
    assert not odd.is_known
    assert is_read_by_numbers("2g.99gb", A100)
    assert not is_read_by_numbers("2g.99gb", "")
    unnamed = shape_of("3g.40gb", "")
    assert unnamed is not None
    assert not unnamed.is_known
    assert (unnamed.compute, unnamed.memory, unnamed.most) == (
        Fraction(3, 7),
        Fraction(4, 8),
        2,
    )


@pytest.mark.parametrize(
    "name", ["", "gpu", "9g.99gb", "0g.1gb", "4c.3g.40gb", "1g.10"]
)
def test_what_is_no_profile_or_more_than_a_gpu(name: str) -> None:
    assert shape_of(name, A100) is None


@pytest.mark.parametrize(
    ("name", "model", "known"),
    [
        ("7g.79gb", A100, "7g.80gb"),  # NVIDIA/dcgm-exporter#713
        ("1g.11gb", "NVIDIA-H100-NVL", "1g.12gb"),  # NVIDIA/dcgm-exporter#544
        ("1g.11gb.me", "NVIDIA-H100-NVL", "1g.12gb+me"),
        ("1c.3g.39gb", A100, "1c.3g.40gb"),
        ("7g.140gb", "NVIDIA-H200", "7g.141gb"),
        ("7g.170gb", "NVIDIA-B200", "7g.180gb"),  # a tenth
        ("1g.19gb", A100, "1g.20gb"),  # the nearer of two
        ("1g.5gb", "NVIDIA-A30", "1g.6gb"),
        ("1g.18gb", "NVIDIA-H20", "1g.18gb"),  # neither 12 nor 24
        ("2g.10gb", A100, "2g.10gb"),  # of as many slices
        ("1g.11gb", "", "1g.11gb"),
        ("cpx", A100, "cpx"),
    ],
)
def test_gigabytes_may_differ_by_rounding(name: str, model: str, known: str) -> None:
    assert known_name(name, model) == known
    assert shape_of(name, model) == shape_of(known, model)


def test_spellings_of_attributes_are_one() -> None:
    assert normal("1g.10gb.me") == normal("1G.10GB+ME") == "1g.10gb+me"
    assert parse("1g.24gb+me.all") == Profile(1, 1, 24, "+me.all")
    assert parse("1c.2g.20gb") == Profile(1, 2, 20)


def test_the_dominant_share_is_made_to_add_up() -> None:
    """T13b: a shipped layout, whose larger shares come to 15/14 of the card."""
    shapes = [
        shape
        for name in ("1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb")
        if (shape := shape_of(name, A100)) is not None
    ]
    dominant = weights(shapes, Policy.DOMINANT)
    assert dominant == [
        Fraction(2, 15),
        Fraction(2, 15),
        Fraction(4, 15),
        Fraction(7, 15),
    ]
    assert [round(float(w) * 2.10, 2) for w in dominant] == [0.28, 0.28, 0.56, 0.98]
    assert sum(weights(shapes, Policy.COMPUTE)) == 1
    assert weights(shapes, Policy.MEMORY) == [
        Fraction(1, 8),
        Fraction(1, 8),
        Fraction(2, 8),
        Fraction(4, 8),
    ]


@pytest.mark.parametrize(
    ("profile", "model", "compute", "memory", "most"),
    [
        ("5g.50gb", "", Fraction(5, 7), Fraction(5, 8), 1),
        ("1c.3g.40gb", "", Fraction(1, 7), Fraction(4, 8) / 3, 2),
        ("2g.16gb", "NVIDIA-RTX-PRO-4500", Fraction(2, 4), Fraction(2, 4), 2),
        ("1g.8gb", "RTX-PRO", Fraction(1, 4), Fraction(1, 4), 4),
    ],
)
def test_what_the_table_does_not_know_counts_by_its_numbers(
    profile: str, model: str, compute: Fraction, memory: Fraction, most: int
) -> None:
    shape = shape_of(profile, model)
    assert shape is not None
    assert (shape.compute, shape.memory, shape.most) == (compute, memory, most)
    assert shape.is_known is False


def test_compute_slices_of_a_gpu() -> None:
    """rules.md "Units": total 7; A30 and RTX PRO 4."""
    models = (A100, "NVIDIA-A30", "NVIDIA-RTX-PRO-6000", "RTX-PRO", "Quadro-RTX-6000")
    assert [slices_of(model) for model in models] == [7, 4, 4, 4, 7]


@pytest.mark.parametrize(
    ("profile", "model", "words"),
    [
        ("1G.10GB.ME", A100, ""),
        (
            "gpu",
            A100,
            "'gpu' is not a valid MIG profile. Examples: 1g.10gb, 1g.10gb+me.",
        ),
        ("2G.12GB", "NVIDIA-A30", ""),
        (
            "3G.20GB",
            "NVIDIA-A30",
            "NVIDIA-A30 has no profile 3g.20gb; it has 1g.6gb, 2g.12gb, 4g.24gb.",
        ),
        ("9G.99GB", "Thing", "9g.99gb is more than one Thing."),
    ],
)
def test_why_a_profile_cannot_be(profile: str, model: str, words: str) -> None:
    assert fault_of(profile, model) == words
