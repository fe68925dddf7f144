"""How exporter samples become evidence of GPUs and labels (rules N2, N4, N14, N17; T6, T21)."""

from collections.abc import Mapping

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    Inventory,
    LabelKey,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import (
    Claimed,
    GpuKey,
    PodName,
    Reading,
    ScraperIdentity,
    Series,
)

DCGM, OTHER = ScraperIdentity("dcgm", "one"), ScraperIdentity("dcgm", "two")
WHOLE = Interval(0, 600_000)
A, B = PodName("ns", "a"), PodName("ns", "b")
HERE = ScrapeLocation("n", DCGM)


def series(
    seconds: list[int],
    gpu: GpuKey | None = GpuKey("G", "n"),
    *,
    metric: str = "gpu_other",
    scraper: ScraperIdentity = DCGM,
    labels: Mapping[str, str] | None = None,
) -> Series:
    times = np.array(seconds, np.int64) * 1000
    return Series(
        metric, metric, scraper, times, np.ones(len(times)), labels or {}, gpu
    )


def seen(
    *found: Series,
    period: Interval = WHOLE,
    inventory: Inventory | None = None,
    interval_ms: int | None = None,
) -> tuple[Inventory, ChangedRecords]:
    inventory = inventory or Inventory()
    reading = Reading(found, interval_ms=interval_ms)
    return inventory, observe(inventory, [reading], period)


# --- when a GPU was sampled (N14) ----------------------------------------------------


def test_any_sample_proves_presence() -> None:
    """N14: all metrics together, data or not; a gap of 1.5 steps is none."""
    inventory, touched = seen(
        series([0, 30, 60]), series([30, 90], metric="gpu_util"), series([300, 330])
    )
    assert inventory.gpus["G"].spans == {
        HERE: [SampleSpan(0, 90_000, 30_000), SampleSpan(300_000, 330_000, 30_000)]
    }
    assert touched.gpus == {"G"}


def test_same_time_twice_is_one_sample() -> None:
    """N2, N4: the step is the lower median of the gaps between distinct times."""
    inventory, _ = seen(series([0, 0, 60, 60, 120, 120]))
    assert inventory.gpus["G"].spans == {HERE: [SampleSpan(0, 120_000, 60_000)]}


def test_places_and_gpus_are_kept_apart() -> None:
    inventory, _ = seen(
        series([0, 30, 60]),
        series([0, 60, 120], scraper=OTHER),
        series([300, 330, 360], GpuKey("G", "m")),
        series([0, 30, 60], GpuKey("H", "n")),
    )
    assert inventory.gpus["G"].spans == {
        HERE: [SampleSpan(0, 60_000, 30_000)],
        ScrapeLocation("n", OTHER): [SampleSpan(0, 120_000, 60_000)],
        ScrapeLocation("m", DCGM): [SampleSpan(300_000, 360_000, 30_000)],
    }
    assert set(inventory.gpus) == {"G", "H"}


def test_few_samples_take_the_step_of_the_nodes_others() -> None:
    """N4: of its node only; a declared interval rules."""
    found = [
        series([0, 10, 20], GpuKey("H", "n")),
        series([0]),
        series([0], GpuKey("I", "m")),
    ]
    inventory, _ = seen(*found)
    assert inventory.gpus["G"].spans[HERE] == [SampleSpan(0, 0, 10_000)]
    assert inventory.gpus["I"].spans[ScrapeLocation("m", DCGM)] == [
        SampleSpan(0, 0, 30_000)
    ]
    inventory, _ = seen(*found, interval_ms=45_000)
    assert inventory.gpus["G"].spans[HERE] == [SampleSpan(0, 0, 45_000)]


def test_only_samples_of_the_period_are_folded_and_those_around_tell_the_step() -> None:
    """N1: half-open."""
    inventory, _ = seen(series([0, 60, 120, 180]), period=Interval(60_000, 180_000))
    assert inventory.gpus["G"].spans == {HERE: [SampleSpan(60_000, 120_000, 60_000)]}
    inventory, touched = seen(series([0, 30]), period=Interval(60_000, 90_000))
    assert inventory.gpus["G"].spans == {}
    assert touched.gpus == set()


def test_reading_again_touches_nothing() -> None:
    """N1: what is known makes nothing dirty."""
    found = [
        series([0, 30, 60], GpuKey("G", "n", "1", "1g.5gb", "A100", exported=A)),
        series([0], metric="up", gpu=None, labels={"pod": "x", "namespace": "y"}),
    ]
    inventory, first = seen(*found)
    assert (first.gpus, first.scrapers) == ({"G"}, {DCGM})
    assert len(first.labels) == 1
    _, again = seen(*found, inventory=inventory)
    assert (again.gpus, again.scrapers, again.labels) == (set(), set(), set())


def test_first_model_that_is_named_is_kept() -> None:
    inventory, _ = seen(
        series([0]),
        series([0], GpuKey("G", "n", model="A100")),
        series([0], GpuKey("G", "n", model="H100")),
    )
    assert inventory.gpus["G"].model == "A100"


# --- how it is divided ---------------------------------------------------------------


def instance(number: int, pod: PodName | None = None) -> GpuKey:
    return GpuKey("G", "n", str(number), "1g.5gb", exported=pod)


def test_geometry_is_known_at_each_change() -> None:
    """Fine print "MIG": what the last scrape shows, until a scrape shows another."""
    inventory, _ = seen(
        series([0, 30]),
        series([60, 90, 120], instance(1)),
        series([90, 120], instance(2)),
    )
    one, two = (1, "1g.5gb"), (2, "1g.5gb")
    assert inventory.gpus["G"].geometry == [
        (0, ()),
        (60_000, (one,)),
        (90_000, (one, two)),
    ]
    _, touched = seen(series([150, 180]), inventory=inventory)  # whole again
    assert touched.gpus == {"G"}
    assert inventory.gpus["G"].geometry[-1] == (150_000, ())


def test_gpu_that_never_was_divided_has_no_geometry() -> None:
    inventory, _ = seen(series([0, 30], GpuKey("G", "n", profile="1g.5gb")))
    assert inventory.gpus["G"].geometry == []


# --- whom samples name (N17, T6) -----------------------------------------------------


def named(inventory: Inventory) -> dict[str, list[int]]:
    """Seconds at which each pod is named."""
    return {
        label.pod.pod: (shown.times // 1000).tolist()
        for label, shown in inventory.gpu_labels.items()
    }


def test_labels_are_known_with_their_times_and_steps() -> None:
    key = GpuKey("G", "n", exported=A, vgpu="3")
    inventory, touched = seen(series([0, 60, 120], key), series([180], key))
    label = LabelKey("G", HERE, "", "3", A, is_plain=False)
    assert set(inventory.gpu_labels) == touched.labels == {label}
    shown = inventory.gpu_labels[label]
    assert shown.times.tolist() == [0, 60_000, 120_000, 180_000]
    assert shown.steps.tolist() == [60_000] * 4


def test_labels_of_later_reads_join_those_before() -> None:
    key = GpuKey("G", "n", plain=A)
    inventory, _ = seen(series([0, 30, 60], key), period=Interval(0, 90_000))
    _, touched = seen(
        series([30, 60, 90, 120], key),
        period=Interval(60_000, 600_000),
        inventory=inventory,
    )
    assert len(touched.labels) == 1
    assert named(inventory) == {"a": [0, 30, 60, 90, 120]}
    # what is read again has the step that is known now
    _, later = seen(series([0, 60, 120], key), inventory=inventory, interval_ms=60_000)
    [shown] = inventory.gpu_labels.values()
    assert shown.steps.tolist() == [60_000, 30_000, 60_000, 30_000, 60_000]
    assert len(later.labels) == 1


@pytest.mark.parametrize("order", [1, -1])
def test_plain_labels_of_a_scraper_that_renames_are_its_own(order: int) -> None:
    """T6: wherever in the reading it shows exported_pod."""
    parts = [
        series([0, 30], GpuKey("G", "n", exported=A, plain=B)),
        series([0, 30], GpuKey("H", "n", plain=B)),
        series([0, 30], GpuKey("H", "n", plain=B), scraper=OTHER),
    ]
    inventory, _ = seen(*parts[::order])
    assert {(key.pod, key.place.scraper) for key in inventory.gpu_labels} == {
        (A, DCGM),
        (B, OTHER),
    }
    assert inventory.scrapers[DCGM].shows_exported
    assert not inventory.scrapers[OTHER].shows_exported


def test_pod_that_up_names_is_the_exporters_own() -> None:
    """T6, N3."""
    inventory, _ = seen(
        series([0], GpuKey("G", "n", plain=A)),
        series([0], GpuKey("G", "n", plain=B)),
        series([0], None, metric="up", labels={"pod": "a", "namespace": "ns"}),
        series([0], None, metric="up", labels={"pod": ""}),
        series([0], None, metric="up", labels={"pod": "c"}),
        series(
            [0], None, metric="kube_pod_info", labels={"pod": "b", "namespace": "ns"}
        ),
    )
    assert inventory.own_pods == {("ns", "a"), ("", "c")}
    assert named(inventory) == {"b": [0]}


def test_scraper_that_begins_to_rename_is_touched() -> None:
    inventory, first = seen(series([0], GpuKey("G", "n", plain=A)))
    assert first.scrapers == {DCGM}
    _, second = seen(series([30], GpuKey("G", "n", exported=B)), inventory=inventory)
    assert second.scrapers == {DCGM}


# --- devices of claims (T21) ---------------------------------------------------------


def claimed(name: str = "c", node: str = "n") -> GpuKey:
    claim = Claimed("ns", name, "gpu.nvidia.com", "pool", "gpu-0")
    return GpuKey("G", node, "2", "1g.5gb", claim=claim)


def test_exporter_shows_the_devices_of_a_claim() -> None:
    """N13: where the API was not read; the pool names the node where no label does."""
    inventory, touched = seen(series([0, 30], claimed()), series([0], claimed("d", "")))
    device = Device("gpu.nvidia.com", "n", "gpu-0", "G", 2, "1g.5gb")
    assert inventory.claims["ns", "c"].devices == {device}
    [other] = inventory.claims["ns", "d"].devices
    assert other.node == "pool"
    assert touched.claims == {("ns", "c"), ("ns", "d")}
    assert seen(series([0], claimed()), inventory=inventory)[1].claims == set()


def test_api_knows_better_than_the_exporter() -> None:
    """N13."""
    inventory = Inventory(
        claims={("ns", "c"): ClaimRecord("ns", "c", is_observed=True)}
    )
    _, touched = seen(series([0], claimed()), inventory=inventory)
    assert inventory.claims["ns", "c"].devices == set()
    assert touched.claims == set()
    late, _ = seen(series([600], claimed()))
    assert late.claims == {}
