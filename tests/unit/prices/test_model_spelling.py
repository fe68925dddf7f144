"""The models that a text of a price list names (money.md M20)."""

from decimal import Decimal

import pytest

from accounting.prices.rules.model_spelling import Spelling, words_of

KNOWN = (
    "NVIDIA-A100-SXM4-40GB",
    "NVIDIA-A100-SXM4-80GB",
    "NVIDIA-A100-PCIE-40GB",
    "NVIDIA-L4",
    "NVIDIA-L40S",
    "Tesla-T4",
    "AMD-Instinct-MI300X-OAM",
    "NVIDIA-RTX-A6000",
)
SPELLING = Spelling(KNOWN, {"big one": "NVIDIA-A100-SXM4-80GB"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A100", KNOWN[:3]),
        ("a100 80 GB", KNOWN[1:2]),
        ("NVIDIA A100 (80GB)", KNOWN[1:2]),
        ("SXM4 A100", KNOWN[:2]),
        ("L4", ("NVIDIA-L4",)),
        ("l40s", ("NVIDIA-L40S",)),
        ("NVIDIA Tesla T4", ("Tesla-T4",)),
        ("MI300X", ("AMD-Instinct-MI300X-OAM",)),
        ("RTX A6000", ("NVIDIA-RTX-A6000",)),
        ("A10", ()),
        ("NVIDIA", ()),
        ("", ()),
        ("()", ()),
        ("big one", KNOWN[1:2]),
        ("Big one", ()),
    ],
)
def test_a_text_names_the_models_with_all_its_words(
    text: str, expected: tuple[str, ...]
) -> None:
    assert sorted(SPELLING.models_of(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("40", (KNOWN[0], KNOWN[2])),
        ("80", (KNOWN[1],)),
        ("72.8", (KNOWN[1],)),  # 7.2 off, and a tenth is 7.28
        ("72", ()),
        ("16", ()),
    ],
)
def test_a_memory_leaves_out_models_of_another_size(
    memory: str, expected: tuple[str, ...]
) -> None:
    found = SPELLING.models_of("A100", Decimal(memory))
    assert sorted(found) == sorted(expected)


def test_a_model_of_unknown_size_fits_every_memory() -> None:
    assert SPELLING.models_of("L4", Decimal("22.4")) == ("NVIDIA-L4",)


def test_words() -> None:
    assert words_of("NVIDIA_GeForce RTX-3080Ti/12 GB") == {"rtx", "3080ti", "12gb"}
