"""Quantities and quota keys (T25 a, b, c), each spelling and each refusal."""

from fractions import Fraction

import pytest

from scheduler_view.clusters.rules.quantity import (
    QuantityError,
    gpus_or_none,
    parse_quantity,
    whole_gpus,
)
from scheduler_view.clusters.rules.quota_key import (
    DRA_SUFFIX,
    KeyRefused,
    does_nothing,
    key_of,
    quota_key,
    resource_of,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8),
        ("2000m", 2),
        ("1500m", Fraction(3, 2)),
        ("0.5", Fraction(1, 2)),
        (".5k", 500),
        ("1Ki", 1024),
        ("2E", 2 * 10**18),
        ("2E3", 2000),
        ("5e-1", Fraction(1, 2)),
        ("-1", -1),
        ("+3.", 3),
    ],
)
def test_quantities_are_exact(text: str, number: Fraction) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize("text", ["", "x", "1 2", "1e", "--1", "1Ki2", "٣", "1" * 65])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=r"is not a number|is missing"):
        parse_quantity(text)


def test_gpus_are_whole() -> None:
    assert whole_gpus("2000m") == 2
    assert whole_gpus(" 8 ") == 8
    assert whole_gpus(0) == 0
    assert gpus_or_none("1500m") is None
    assert gpus_or_none(None) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0.5", "fraction"),
        ("1500m", "fraction"),
        ("-1", "negative"),
        ("1000001", "more than"),
        (True, "not a number"),
        ("", "is missing"),
    ],
)
def test_other_counts_are_refused_with_the_reason(value: str, why: str) -> None:
    with pytest.raises(QuantityError, match=why):
        whole_gpus(value)


@pytest.mark.parametrize(
    "text",
    [
        "requests.nvidia.com/gpu",
        "nvidia.com/gpu",
        "nvidia_com_gpu",
        "limits.nvidia.com/gpu",
        "requests.nvidia_com_gpu",
    ],
)
def test_one_resource_is_spelled_in_many_ways(text: str) -> None:
    found = quota_key(text)
    assert (found.resource, found.key) == ("nvidia.com/gpu", "requests.nvidia.com/gpu")
    assert resource_of(text) == "nvidia.com/gpu"
    is_right = text in ("requests.nvidia.com/gpu", "nvidia.com/gpu")
    assert bool(found.note) is not is_right


def test_limits_are_rewritten_and_say_why() -> None:
    note = quota_key("limits.nvidia.com/gpu").note
    assert "has no effect" in note
    assert "requests.nvidia.com/gpu is used" in note
    assert "not enforced" in does_nothing("limits.nvidia.com/gpu")
    assert "has no effect" in does_nothing("nvidia.com/gpu")
    assert not does_nothing("requests.nvidia.com/gpu")
    assert not does_nothing("requests.cpu")


def test_each_mig_profile_and_device_class_is_its_own_key() -> None:
    assert quota_key("nvidia_com_mig_1g_10gb").resource == "nvidia.com/mig-1g.10gb"
    assert key_of("nvidia.com/mig-1g.10gb") == "requests.nvidia.com/mig-1g.10gb"
    dra = f"gpu.nvidia.com{DRA_SUFFIX}"
    assert quota_key(dra).key == dra == key_of(dra)
    assert not does_nothing(dra)


@pytest.mark.parametrize(
    "text",
    [
        "cpu",
        "requests.cpu",
        "pods",
        "count/resourceclaims.resource.k8s.io",
        "foo",
        "requests.nvidia.com/GPU!",
        "example.com/thing",
        "",
        "x" * 400 + "/gpu",
        f"Bad_Class{DRA_SUFFIX}",
        f"{'x' * 250}{DRA_SUFFIX}",
        DRA_SUFFIX,
    ],
)
def test_other_keys_are_refused(text: str) -> None:
    with pytest.raises(KeyRefused):
        quota_key(text)
