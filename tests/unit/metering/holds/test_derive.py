"""Where a cluster's data end, requests of a pod, and what equal readings are (N1; T20)."""

from fractions import Fraction

import numpy as np
import pytest

from accounting.metering.rules.holds.derive import data_end_ms
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    PodRecord,
    SampleSpan,
    ScrapeLocation,
    ScraperRecord,
    merged,
)
from accounting.metering.rules.inventory.requests import effective_requests, units_of
from accounting.metering.rules.samples.series import (
    GpuKey,
    Reading,
    ScraperIdentity,
    Series,
    content_hash,
)
from accounting.metering.rules.units.gpu_units import NodeFacts
from accounting.metering.rules.units.resources import is_counted, sanitised

GPU = "nvidia.com/gpu"


# --- where the data end (N1) ----------------------------------------------


def test_data_end_one_step_after_the_latest_sample_of_any_track() -> None:
    """N1: kube-state's included."""
    places = {
        ScrapeLocation("n", ScraperIdentity("a")): [
            SampleSpan(0, 50_000, 30_000),
            SampleSpan(90_000, 100_000, 15_000),
        ],
        ScrapeLocation("n", ScraperIdentity("b")): [SampleSpan(0, 90_000, 30_000)],
        ScrapeLocation("n", ScraperIdentity("c")): [],
    }
    gpus = {"G": GpuRecord("G", spans=places)}
    assert data_end_ms(Inventory(gpus=gpus)) == 120_000
    ksm = ScraperIdentity("ksm")
    times = np.array([0, 60_000, 120_000], np.int64)
    scrapers = {ksm: ScraperRecord(ksm, kube_times=times)}
    assert data_end_ms(Inventory(gpus=gpus, scrapers=scrapers)) == 180_000
    once = {ksm: ScraperRecord(ksm, kube_times=times[:1])}
    assert data_end_ms(Inventory(scrapers=once)) == 30_000
    assert data_end_ms(Inventory()) == 0


def test_spans_are_joined_in_any_order() -> None:
    """N5: where the gap is at most 1.5 steps of the earlier; the longer step of two counts."""
    parts = [
        SampleSpan(100, 200, 10),
        SampleSpan(0, 50, 30),
        SampleSpan(95, 200, 20),
        SampleSpan(231, 240, 10),
    ]
    expected = [SampleSpan(0, 200, 20), SampleSpan(231, 240, 10)]
    assert merged(parts) == merged(parts[::-1]) == expected
    assert merged([SampleSpan(0, 50, 30), SampleSpan(96, 100, 30)]) == [
        SampleSpan(0, 50, 30),
        SampleSpan(96, 100, 30),
    ]
    assert merged([SampleSpan(0, 100, 30), SampleSpan(10, 90, 60)]) == [
        SampleSpan(0, 100, 30)
    ]
    assert merged([SampleSpan(0, 100, 10), SampleSpan(10, 100, 60)]) == [
        SampleSpan(0, 100, 60)
    ]
    assert merged([SampleSpan(0, 100, 60), SampleSpan(10, 100, 10)]) == [
        SampleSpan(0, 100, 60)
    ]
    assert merged([]) == []
    mine = SampleSpan(0, 50, 30)
    merged([mine, SampleSpan(60, 90, 10)])
    assert mine == SampleSpan(0, 50, 30)  # what is given stays as it is


# --- what a pod asks for (rules.md "Requests", T20) --------------------------------------


def asks(**containers: tuple[str, str, int]) -> PodRecord:
    pod = PodRecord("u", "ns", "a", 0, 0)
    for name, (kind, resource, units) in containers.items():
        pod.requests[kind, name, resource] = units
    return pod


def test_sidecars_count_beside_the_larger_of_main_and_init() -> None:
    """rules.md "Requests": sidecars + max(sum of main, largest init), by resource."""
    mig = "nvidia.com/mig-1g.5gb"
    pod = asks(
        a=("main", GPU, 2),
        b=("main", GPU, 3),
        i=("init", GPU, 4),
        j=("init", GPU, 1),
        s=("init", GPU, 10),
        t=("init", GPU, 20),
        k=("init", mig, 6),
        z=("main", "nvidia.com/gpu.shared", 0),
        c=("main", "nvidia.com/gpucores", 30),
    )
    pod.sidecars = {"s", "t"}
    assert effective_requests(pod) == {GPU: 35, mig: 6}
    pod.requests["init", "i", GPU] = 9
    assert effective_requests(pod)[GPU] == 39


def test_units_are_those_that_can_be_on_the_node() -> None:
    pod = asks(
        a=("main", GPU, 2),
        b=("main", "nvidia.com/mig-9g.99gb", 1),
        c=("main", "x/y", 3),
    )
    facts = NodeFacts(labels={"label_nvidia_com_gpu_replicas": "4"})
    found = [
        (r, n, unit.share)
        for r, n, unit in units_of(pod, facts, {"x/y": Fraction(1, 2)})
    ]
    assert found == [(GPU, 2, Fraction(1, 4)), ("x/y", 3, Fraction(1, 2))]


@pytest.mark.parametrize(
    ("resource", "is_known"),
    [
        (GPU, True),
        ("nvidia.com/mig-1g.10gb.me", True),
        ("nvidia.com/gpucores", True),
        ("example.com/NPU-x", True),  # added by an administrator
        ("example.com/npu-x", False),
        ("nvidia_com_gpu", False),  # kube-state's spelling is not Kubernetes'
        ("cpu", False),
    ],
)
def test_resources_that_are_counted(resource: str, is_known: bool) -> None:
    assert is_counted(resource, {"example.com/NPU-x"}) is is_known
    assert sanitised("example.com/NPU-x") == "example_com_NPU_x"


# --- equal readings (N1) -------------------------------------------------------------


def series(**more: object) -> Series:
    values: dict[str, object] = {
        "metric": "m",
        "name": "M",
        "scraper": ScraperIdentity("a"),
        "times_ms": np.array([1, 2], np.int64),
        "values": np.array([1.0, 2.0]),
        "labels": {"a": "1", "b": "2"},
        "gpu": GpuKey("G", "n"),
    }
    return Series(**(values | more))  # type: ignore[arg-type]  # of several types


def hash_of(*found: Series, **more: object) -> bytes:
    return content_hash([Reading(found, **more)])  # type: ignore[arg-type]  # of several types


def test_equal_content_has_an_equal_hash_in_any_order() -> None:
    """A result is a function of the data alone."""
    one, two = series(), series(name="N")
    assert len(hash_of(one)) == 16
    assert hash_of(one, two) == hash_of(two, one)
    assert hash_of(one) == hash_of(series(labels={"b": "2", "a": "1"}))
    readings = [Reading((one,)), Reading((two,), interval_ms=1)]
    assert content_hash(readings) == content_hash(readings[::-1])


def test_any_difference_has_another_hash() -> None:
    others = [
        hash_of(series(name="N")),
        hash_of(series(metric="n")),
        hash_of(series(scraper=ScraperIdentity("b"))),
        hash_of(series(gpu=GpuKey("H", "n"))),
        hash_of(series(gpu=None)),
        hash_of(series(labels={"a": "1", "b": "3"})),
        hash_of(series(times_ms=np.array([1, 3], np.int64))),
        hash_of(series(values=np.array([1.0, 3.0]))),
        hash_of(series(), is_partial=True),
        hash_of(series(), interval_ms=1),
        hash_of(series(), notes=(("a", "b", "c"),)),
        hash_of(series(), series()),
        hash_of(),
        content_hash([]),
    ]
    assert len({hash_of(series()), *others}) == len(others) + 1
