"""How samples say that AMD's cards are divided, and what a capacity stands for (units)."""

from collections.abc import Sequence

import pytest

from accounting.metering.rules.inventory.amd_partitions import note_partitions
from accounting.metering.rules.inventory.nodes import node_facts
from accounting.metering.rules.inventory.records import (
    GpuRecord,
    Inventory,
    NodeRecord,
    SampledPartition,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from accounting.metering.rules.units.gpu_units import gpu_count, unit_of
from tests.unit.metering.fleet import ms

AMD = ScrapeLocation("n", ScraperIdentity("amd", "n:5000"))
MODEL = "AMD-Instinct-MI300X"


def parts(kind: str, count: int) -> tuple[tuple[int, str], ...]:
    return tuple((n, kind) for n in range(count))


def cards(
    *geometries: Sequence[tuple[float, str, int]], model: str = MODEL
) -> Inventory:
    """Node `n` with cards that are divided so from so many seconds on."""
    found = Inventory(nodes={"n": NodeRecord("n")})
    for number, changes in enumerate(geometries):
        record = GpuRecord(f"card-{number}", model)
        record.spans[AMD] = [SampleSpan(ms(0), ms(3600), 30_000)]
        record.geometry = [(ms(at), parts(kind, count)) for at, kind, count in changes]
        found.gpus[record.uuid] = record
    note_partitions(found)
    return found


def count_at(inventory: Inventory, at: float, units: int) -> int:
    node = inventory.nodes["n"]
    if not node.capacity:
        node.capacity = [(ms(0), {"amd.com/gpu": units})]
    return gpu_count(node_facts(node, ms(at)))


@pytest.mark.parametrize(
    ("kind", "count", "units"),
    [("dpx", 2, 8), ("tpx", 3, 12), ("qpx", 4, 16), ("cpx", 8, 32)],
)
def test_capacity_stands_for_the_cards_that_samples_show(
    kind: str, count: int, units: int
) -> None:
    inventory = cards(*[[(0, kind, count)]] * 4)
    assert count_at(inventory, 60, units) == 4
    assert (
        count_at(inventory, -60, units) == 4
    )  # before the first sample, as that shows
    unit = unit_of("amd.com/gpu", node_facts(inventory.nodes["n"], ms(60)))
    assert unit is not None
    assert (unit.kind, unit.share.denominator) == (kind, count)


def test_the_nodes_label_goes_before_samples() -> None:
    inventory = cards([(0, "cpx", 8)])
    label = {"label_amd_com_compute_partition": "QPX"}
    inventory.nodes["n"].labels = [(ms(0), label)]
    assert count_at(inventory, 0, 8) == 2


def test_a_card_of_six_dies_is_six_parts_where_samples_name_it() -> None:
    inventory = cards([(0, "cpx", 6)], model="AMD-Instinct-MI300A")
    assert count_at(inventory, 0, 24) == 4


def test_what_was_never_divided_has_no_partitions() -> None:
    mig = Inventory(nodes={"n": NodeRecord("n")})
    record = GpuRecord("GPU-a", geometry=[(ms(0), ((1, "1g.5gb"),))])
    record.spans[AMD] = [SampleSpan(ms(0), ms(60), 30_000)]
    mig.gpus["GPU-a"] = record
    assert note_partitions(mig) == set()
    assert note_partitions(cards([])) == set()


def test_most_cards_say_how_the_node_is_divided() -> None:
    """Two of three; of one each the finer one."""
    inventory = cards([(0, "qpx", 4)], [(0, "qpx", 4), (60, "cpx", 8)], [(0, "", 0)])
    assert inventory.nodes["n"].partitions == [
        SampledPartition(ms(0), "qpx", MODEL, 0),
        SampledPartition(ms(60), "cpx", MODEL, 30_000),
    ]
    again = note_partitions(inventory)
    assert again == set()  # nothing new
    inventory.gpus["card-1"].geometry = [(ms(0), parts("qpx", 4))]
    assert note_partitions(inventory) == {"n"}


@pytest.mark.parametrize(
    ("shown", "at", "expected"),
    [
        (607, 599, 8),
        (607, 600, 8),  # 64 units, which the next sample shows to be parts
        (607, 606, 8),
        (607, 607, 8),
        (645, 600, 8),  # 1.5 steps
        (646, 600, 64),  # later than that: the samples of the time count
        (646, 646, 8),
        (593, 595, 1),  # the exporter was read first: 8 units of one card, for a moment
    ],
)
def test_samples_soon_after_a_capacity_speak_of_it(
    shown: float, at: float, expected: int
) -> None:
    """8 whole cards until 10:10:00, 64 partitions after it."""
    inventory = cards(*[[(0, "", 0), (shown, "cpx", 8)]] * 8)
    units = [(0, 8), (600, 64)]
    inventory.nodes["n"].capacity = [(ms(t), {"amd.com/gpu": n}) for t, n in units]
    assert count_at(inventory, at, 0) == expected
