"""Wall time of AMD's cards is that of the cards in every mode, with and without node labels.

A node has two MI300X. In a mode of n parts its capacity is 2 x n `amd.com/gpu`; a pod that asks
for one of them holds 1/n of a card. Two cards for an hour are 7,200,000 ms of wall time.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.traps.scene import (
    HOUR_MS,
    KUBE,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

SETUP = """
billing: {currency: EUR, timezone: UTC}
teams: [{slug: vision}]
bindings: [{namespace: vision, team: vision}]
prices: [{model: AMD-Instinct-MI300X, rate_per_gpu_hour: "2.40"}]
"""
PARTS = {"spx": 1, "dpx": 2, "tpx": 3, "qpx": 4, "cpx": 8}
CARDS = ("serial-a", "serial-b")
RANGE = {"from": "2026-10-01T10:00:00Z", "to": "2026-10-01T11:00:00Z"}


def capacity(told: Scene, units: int, at: Sequence[float] | None = None) -> None:
    what = {"node": "n1", "resource": "amd_com_gpu", "unit": "integer"}
    told.add("kube_node_status_capacity", units, KUBE | what, at)


def labelled(told: Scene, mode: str, at: Sequence[float] | None = None) -> None:
    own = {"node": "n1", "label_amd_com_compute_memory_partition": f"{mode}_nps1"}
    told.add("kube_node_labels", 1, KUBE | own, at)


def cards(
    told: Scene,
    mode: str,
    *,
    pod: str = "",
    late: float = 0,
    since: float = 0,
    until: float = 3600,
    is_guest: bool = False,
) -> None:
    """Two cards as the exporter shows them; `pod` has part 1 (or all) of the first one."""
    at = [t + late for t in told.scrapes if START + since <= t + late < START + until]
    for n, number in enumerate(CARDS):
        for part in range(PARTS[mode]):
            labels: dict[str, object] = {
                "job": "amd",
                "instance": "n1:5000",
                "hostname": "n1",
                "gpu_id": n * PARTS[mode] + part,
                "serial_number": "" if is_guest else number,
                "card_model": "AMD Instinct MI300X",
                "gpu_partition_id": part,
                "gpu_compute_partition_type": mode,
            }
            if pod and n == 0 and part == min(1, PARTS[mode] - 1):
                labels |= {"namespace": "vision", "pod": pod}
            told.add("gpu_gfx_activity", 50 if part == 0 else 0, labels, at)


@pytest.mark.parametrize("is_labelled", [True, False], ids=["label", "no label"])
@pytest.mark.parametrize("mode", PARTS)
def test_two_cards_are_two_cards(mode: str, is_labelled: bool, tmp_path: Path) -> None:
    told = Scene()
    capacity(told, 2 * PARTS[mode])
    if is_labelled:
        labelled(told, mode)
    told.pod(Pod("train", resource="amd_com_gpu"))
    cards(told, mode, pod="train")
    told.read(tmp_path, SETUP)

    found = gpus()
    assert {name: row["wall_ms"] for name, row in found.items()} == dict.fromkeys(
        CARDS, HOUR_MS
    )
    assert usage("pod")["train"]["allocated_ms"] == HOUR_MS // PARTS[mode]
    assert sum(float(row["wall_charge"]) for row in found.values()) == 4.8


@pytest.mark.parametrize("is_labelled", [True, False], ids=["label", "no label"])
@pytest.mark.parametrize("late", [0, 7, 29])
def test_a_card_that_is_divided_anew_stays_one(
    late: int, is_labelled: bool, tmp_path: Path
) -> None:
    """Whole until 10:30, in eight parts after it; the exporter is read `late` seconds later."""
    told = Scene()
    early = [at for at in told.scrapes if at < START + 1800]
    rest = [at for at in told.scrapes if at >= START + 1800]
    for mode, at in (("spx", early), ("cpx", rest)):
        capacity(told, 2 * PARTS[mode], at)
        if is_labelled:
            labelled(told, mode, at)
    told.pod(
        Pod(
            "whole",
            resource="amd_com_gpu",
            finished=START + 1800,
            completion=START + 1800,
        ),
        Pod("part", resource="amd_com_gpu", created=START + 1860, bound=START + 1860),
    )
    cards(told, "spx", pod="whole", late=late, until=1800)
    cards(told, "cpx", pod="part", late=late, since=1800)
    told.read(tmp_path, SETUP)

    found = gpus(**RANGE)
    assert set(found) - {"n1/0", "n1/1"} == set(CARDS)  # until the exporter is read
    assert sum(row["wall_ms"] for row in found.values()) == 2 * HOUR_MS
    held = {pod: row["allocated_ms"] for pod, row in usage("pod", **RANGE).items()}
    assert held == {"whole": HOUR_MS // 2, "part": 1_740_000 // 8}


def test_an_exporter_that_comes_late_shows_how_it_was_before(tmp_path: Path) -> None:
    """Placeholders are those of two cards, although nothing told so in the first minutes."""
    told = Scene()
    capacity(told, 16)
    cards(told, "cpx", since=1200)
    told.read(tmp_path, SETUP)

    walls = {name: row["wall_ms"] for name, row in gpus().items()}
    assert walls == {
        "n1/0": HOUR_MS // 3,
        "n1/1": HOUR_MS // 3,
        "serial-a": HOUR_MS * 2 // 3,
        "serial-b": HOUR_MS * 2 // 3,
    }


@pytest.mark.parametrize("mode", ["spx", "qpx", "cpx"])
def test_cards_of_a_guest_are_told_by_their_index(mode: str, tmp_path: Path) -> None:
    told = Scene()
    capacity(told, 2 * PARTS[mode])
    cards(told, mode, is_guest=True)
    told.read(tmp_path, SETUP)

    found = gpus()
    assert set(found) == {"n1/amd-0", "n1/amd-1"}
    assert {row["wall_ms"] for row in found.values()} == {HOUR_MS}
    # only part 0 tells what it did: a quarter or an eighth of half of each card
    stray = {"stray": HOUR_MS // (2 * PARTS[mode])}
    assert states(found["n1/amd-0"]).items() >= stray.items()


@pytest.mark.parametrize(("mode", "share"), [("dpx", "1/2"), ("cpx", "1/8")])
def test_a_label_alone_makes_a_hold_of_amds_resource(
    mode: str, share: str, tmp_path: Path
) -> None:
    """N13, N35: where kube-state is never read, nobody tells what the node gives out."""
    told = Scene()
    cards(told, mode, pod="train")
    told.read(tmp_path, SETUP)
    [hold] = holds().values()
    found = {name: hold[name] for name in ("pod", "resource", "units", "share")}
    assert found == {
        "pod": "train",
        "resource": "amd.com/gpu",
        "units": 1,
        "share": share,
    }
    assert usage("pod")["train"]["allocated_ms"] == HOUR_MS // PARTS[mode]
