"""Whom samples name, and which of these labels count (rules N3, N13, N17; traps T6, T16).

Not here: what a mapped label does to a hold's time (test_attribution, oracle).
"""

import numpy as np
import pytest

from accounting.metering.rules.inventory.labels import (
    Labels,
    Ownership,
    is_own,
    label_of,
    labels_of,
    ownership,
    union_of,
)
from accounting.metering.rules.inventory.records import (
    Inventory,
    LabelKey,
    Naming,
    ScrapeLocation,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    ScraperIdentity,
    Series,
)
from accounting.metering.rules.units.geometry import GpuPart

DCGM, OTHER = ScraperIdentity("dcgm", "n:9400"), ScraperIdentity("other", "n:9401")
WORK, EXPORTER = PodName("ns", "work"), PodName("gpu-operator", "dcgm-exporter")


def naming(*times: int, step: int = 30) -> Naming:
    return Naming(np.array(times, np.int64), np.full(len(times), step, np.int32))


def key(
    pod: PodName,
    *,
    uuid: str = "G",
    node: str = "n",
    scraper: ScraperIdentity = DCGM,
    instance: str = "",
    vgpu: str = "",
    is_plain: bool = True,
    profile: str = "",
) -> LabelKey:
    place = ScrapeLocation(node, scraper)
    return LabelKey(uuid, place, instance, vgpu, pod, is_plain, profile)


def labels(shown: dict[LabelKey, Naming]) -> Labels:
    return labels_of(Inventory(gpu_labels=shown))


def series(gpu: GpuKey | None, scraper: ScraperIdentity = DCGM) -> Series:
    nothing = np.empty(0)
    return Series("m", "M", scraper, nothing.astype(np.int64), nothing, gpu=gpu)


# --- the exporter's own labels (N3, T6) ----------------------------------------------


@pytest.mark.parametrize(
    ("exported", "plain", "scraper", "expected"),
    [
        (WORK, EXPORTER, DCGM, WORK),  # exported_pod speaks of the workload
        (WORK, None, OTHER, WORK),
        (None, EXPORTER, DCGM, None),  # this scraper renames: plain is its own
        (None, WORK, DCGM, None),
        (None, WORK, OTHER, WORK),  # honor_labels: plain is the workload
        (None, EXPORTER, OTHER, None),  # an `up` series names this pod
        (None, None, OTHER, None),
    ],
)
def test_workload_is_never_the_exporters_own_pod(
    exported: PodName | None,
    plain: PodName | None,
    scraper: ScraperIdentity,
    expected: PodName | None,
) -> None:
    """N3, T6: both honor_labels modes."""
    whose = Ownership(
        frozenset({DCGM}), frozenset({(EXPORTER.namespace, EXPORTER.pod)})
    )
    gpu = GpuKey("G", "n", exported=exported, plain=plain)
    assert whose.workload(gpu, scraper) == expected
    assert whose.names_workload(series(gpu, scraper)) == (expected is not None)


def test_series_without_a_gpu_names_nobody() -> None:
    assert not Ownership().names_workload(series(None))
    assert label_of(series(None)) is None
    assert label_of(series(GpuKey("G", "n"))) is None


def test_evidence_says_which_labels_are_own() -> None:
    """N3: a scraper that ever shows exported_pod, and pods that `up` names."""
    inventory = Inventory(own_pods={("gpu-operator", "dcgm-exporter")})
    inventory.scrapers[DCGM] = ScraperRecord(DCGM, shows_exported=True)
    inventory.scrapers[OTHER] = ScraperRecord(OTHER)
    assert ownership(inventory) == Ownership(
        frozenset({DCGM}), frozenset({("gpu-operator", "dcgm-exporter")})
    )
    assert is_own(key(WORK), inventory)
    assert not is_own(key(WORK, is_plain=False), inventory)
    assert not is_own(key(WORK, scraper=OTHER), inventory)
    assert is_own(key(EXPORTER, scraper=OTHER), inventory)
    assert not is_own(key(WORK, scraper=ScraperIdentity("never seen")), inventory)


def test_own_labels_are_no_evidence() -> None:
    """T6: only the workload's label stays, and whose labels count is kept with them."""
    inventory = Inventory(own_pods={(EXPORTER.namespace, EXPORTER.pod)})
    inventory.gpu_labels = {
        key(EXPORTER): naming(0, 30),
        key(WORK): naming(0, 30),
        key(PodName("ns", "silent")): naming(),
    }
    found = labels_of(inventory)
    assert [named.pod for named in found.all()] == [WORK]
    assert found.whose.own_pods == {(EXPORTER.namespace, EXPORTER.pod)}


def test_label_keeps_all_that_its_series_says() -> None:
    gpu = GpuKey("G", "n", "7", "1g.5gb", vgpu="2", exported=WORK, plain=EXPORTER)
    assert label_of(series(gpu)) == key(
        WORK, instance="7", vgpu="2", is_plain=False, profile="1g.5gb"
    )
    plain = GpuKey("G", "n", plain=WORK)
    assert label_of(series(plain)) == key(WORK)


# --- places of a pod (N17) -----------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "profile", "part"),
    [
        ("", "", GpuPart("G")),
        ("0", "1g.5gb", GpuPart("G", 0, "1g.5gb")),  # the first instance has number 0
        ("1", "2g.10gb", GpuPart("G", 1, "2g.10gb")),
        (
            "",
            "1g.5gb",
            GpuPart("G"),
        ),  # no instance: the whole GPU, whatever its profile
    ],
)
def test_part_of_a_label(instance: str, profile: str, part: GpuPart) -> None:
    found = labels({key(WORK, instance=instance, profile=profile): naming(0)})
    assert [named.part for named in found.all()] == [part]


def test_place_of_a_pod_is_on_its_node_and_of_its_uid() -> None:
    """N17: on the hold's node and, where the sample carries one, with its uid."""
    found = labels(
        {
            key(WORK, uuid="A"): naming(0),
            key(PodName("ns", "work", "u1"), uuid="B"): naming(0),
            key(PodName("ns", "work", "u2"), uuid="C"): naming(0),
            key(PodName("ns", "work", "u1"), uuid="D", node="m"): naming(0),
            key(PodName("ns", "other", "u1"), uuid="E"): naming(0),
        }
    )
    assert [it.part.uuid for it in found.of("ns", "work", "u1", "n")] == ["A", "B"]
    assert [it.part.uuid for it in found.of("ns", "work", "u1", "m")] == ["D"]
    assert found.of("other", "work", "u1", "n") == []


def test_samples_of_all_scrapers_count_once_with_the_longest_step() -> None:
    """N9, N17: two replicas that share one time."""
    both = union_of([naming(0, 30, 60), naming(30, 90, step=60)])
    assert both.times.tolist() == [0, 30, 60, 90]
    assert both.steps.tolist() == [30, 60, 30, 60]
    turned = union_of([naming(30, 90, step=60), naming(0, 30, 60)])
    assert turned.steps.tolist() == [30, 60, 30, 60]
    shown = {key(WORK): naming(0, 30), key(WORK, scraper=OTHER): naming(30, 60)}
    [named] = labels(shown).all()
    assert named.shown.times.tolist() == [0, 30, 60]


# --- a shared GPU (N17, T16) ---------------------------------------------------------


def counting(found: Labels, pod: str, *, is_shared: bool = True) -> list[int]:
    [named] = found.of("ns", pod, "", "n")
    shown = found.counting(named, is_shared=is_shared)
    assert len(shown.steps) == len(shown.times)
    return [int(at) for at in shown.times]


def test_shared_gpu_counts_labels_only_where_several_pods_are_named() -> None:
    """T16: alone, a label on a shared GPU is one arbitrary pod of it."""
    found = labels(
        {
            key(PodName("ns", "a")): naming(0, 30, 60),
            key(PodName("ns", "b")): naming(30, 60, 90),
            key(PodName("ns", "c")): naming(60, 120),
        }
    )
    assert counting(found, "a") == [30, 60]
    assert counting(found, "b") == [30, 60]
    assert counting(found, "c") == [60]
    assert counting(found, "a", is_shared=False) == [0, 30, 60]


def test_one_pod_twice_is_not_several() -> None:
    """T16: two scrapers name one pod, at one time and beside another's."""
    found = labels({key(PodName("ns", "a")): naming(0, 30)})
    assert counting(found, "a") == []
    twice = {
        key(PodName("ns", "a", "u1")): naming(0, 30),
        key(PodName("ns", "a")): naming(0, 30),
        key(PodName("ns", "b")): naming(30),
    }
    found = labels(twice)
    [named] = found.of("ns", "b", "", "n")
    assert found.counting(named, is_shared=True).times.tolist() == [30]
    for named in found.of("ns", "a", "u1", "n"):
        assert found.counting(named, is_shared=True).times.tolist() == [30]


def test_two_uids_of_a_name_are_several() -> None:
    """T16: the one that replaces another is shown beside it; without a uid it is one of them."""
    found = labels(
        {
            key(PodName("ns", "a", "u1")): naming(0, 30, 60),
            key(PodName("ns", "a", "u2")): naming(30, 90),
            key(PodName("ns", "a")): naming(0, 30, 120),
        }
    )
    counts = {
        named.pod.uid: found.counting(named, is_shared=True).times.tolist()
        for named in found.all()
    }
    assert counts == {"u1": [30], "u2": [30], "": [30]}


def test_label_with_vgpu_counts_alone() -> None:
    """N17: `vgpu` says which replica it is."""
    found = labels({key(PodName("ns", "a"), vgpu="0"): naming(0, 30)})
    assert counting(found, "a") == [0, 30]


def test_pods_on_other_gpus_are_not_several() -> None:
    """N17: several pods at one time on the same GPU of the same node."""
    found = labels(
        {
            key(PodName("ns", "a")): naming(0),
            key(PodName("ns", "b"), uuid="H"): naming(0),
            key(PodName("ns", "c"), node="m"): naming(0),
        }
    )
    assert counting(found, "a") == []


# --- names that are used again (N13) ------------------------------------------


def test_label_without_uid_is_that_of_the_hold_bound_last() -> None:
    """Before the sample, on whatever node; with a uid it is that one's."""
    found = labels({key(WORK): naming(0, 90, 100, 199, 200, 300)})
    found.binds = {("ns", "work"): [(50, "u1"), (100, "u2"), (200, "u3")]}

    def times(uid: str, node: str = "n") -> list[int]:
        return [
            at
            for named in found.of("ns", "work", uid, node)
            for at in named.shown.times.tolist()
        ]

    assert times("u1") == [90]
    assert times("u2") == [100, 199]
    assert times("u3") == [200, 300]
    assert times("u3", "other") == []
    found.binds = {("ns", "work"): [(50, "u1")]}  # nobody else bears the name
    assert times("u1") == [0, 90, 100, 199, 200, 300]
    named = WORK._replace(uid="u1")
    by_uid = labels({key(named): naming(0, 300)})
    by_uid.binds = {("ns", "work"): [(50, "u1"), (100, "u2")]}
    [one] = by_uid.of("ns", "work", "u1", "n")
    assert one.shown.times.tolist() == [0, 300]
    assert by_uid.of("ns", "work", "u2", "n") == []
