"""T13: shares that do not add up to the card. The card costs EUR 2.10 an hour."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from accounting.metering.models.ledger import IngestWindow
from accounting.metering.rules.units.mig_profiles import Policy, shape_of, weights
from tests.builders import SETUP
from tests.integration.metering.support import report
from tests.traps.scene import HOUR_MS, PRODUCT, Pod, Rows, Scene, gpus, usage
from tests.traps.shapes import mig_node, part

pytestmark = pytest.mark.django_db(transaction=True)

MEMORY = {"1g.10gb": 1, "2g.20gb": 2, "3g.40gb": 4}  # slices of 8


def held_card(layout: Sequence[str], utilization: float = 0.5) -> Scene:
    """A card whose instances are all held, one pod each."""
    told = Scene()
    mig_node(told, {profile: layout.count(profile) for profile in set(layout)})
    for n, profile in enumerate(layout, start=1):
        resource = "nvidia_com_mig_" + profile.replace(".", "_")
        told.pod(Pod(f"pod-{n}", resource=resource))
        labels = part(profile, n) | {"namespace": "vision", "pod": f"pod-{n}"}
        told.gpu("GPU-1", utilization, labels)
    return told


def cents(rows: Rows) -> dict[str, str]:
    """Charges to the cent: windows are rounded to milliseconds (N23)."""
    return {key: f"{float(row['charge']):.2f}" for key, row in rows.items()}


def naive_dominant(layout: Sequence[str]) -> float:
    """max(compute, memory) of each instance, not normalised."""
    return sum(max(int(p[0]) / 7, MEMORY[p] / 8) for p in layout)


def test_t13a_what_nobody_can_hold_is_stranded(tmp_path: Path) -> None:
    layout = ["3g.40gb", "3g.40gb"]
    assert naive_dominant(layout) * 2.10 == 2.10  # 1.05 + 1.05, and nothing stranded

    held_card(layout).read(tmp_path)

    assert cents(usage("pod")) == {"pod-1": "0.90", "pod-2": "0.90"}
    card = gpus()["GPU-1"]
    assert f"{float(card['stranded_charge']):.2f}" == "0.30"
    counts = IngestWindow.objects.values_list("samples_expected", "samples_seen")
    assert sum(seen for _, seen in counts) > 0
    assert all(expected <= seen for expected, seen in counts)  # none of the stranded
    assert card["wall_charge"] == "2.100000"
    assert card["wall_ms"] == HOUR_MS


def test_t13b_a_balanced_layout_costs_what_the_card_costs(tmp_path: Path) -> None:
    layout = ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"]
    assert naive_dominant(layout) * 2.10 == pytest.approx(2.25)

    held_card(layout).read(tmp_path)

    charges = [charge for _, charge in sorted(cents(usage("pod")).items())]
    assert charges == ["0.30", "0.30", "0.60", "0.90"]
    assert usage("team")["vision"]["charge"] == "2.100000"
    assert gpus()["GPU-1"]["stranded_ms"] == 0


def test_t13c_seven_sevenths_are_one(tmp_path: Path) -> None:
    held_card(["1g.10gb"] * 7, utilization=1 / 3).read(tmp_path)

    rows = usage("pod")
    assert sum(row["allocated_ms"] for row in rows.values()) == HOUR_MS
    a_millisecond_each = 7 * 12  # lines and windows, each rounded once (N23)
    busy = gpus()["GPU-1"]["busy_ms"]
    assert busy == pytest.approx(HOUR_MS / 3, abs=a_millisecond_each)
    card = gpus()["GPU-1"]
    assert card["busy_ms"] + card["idle_ms"] == card["wall_ms"] == HOUR_MS


def by_policy(policy: str) -> str:
    """The set-up with a cluster that counts by another share."""
    return SETUP + f"clusters: [{{name: north, share: {policy}}}]\n"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("compute", [0.30, 0.30, 0.60, 0.90]),
        ("memory", [0.2625, 0.2625, 0.525, 1.05]),  # 1, 1, 2 and 4 of 8
        ("dominant", [0.28, 0.28, 0.56, 0.98]),
    ],
)
def test_t13b_a_balanced_layout_by_each_policy(
    tmp_path: Path, policy: str, expected: list[float]
) -> None:
    layout = ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"]

    held_card(layout).read(tmp_path, by_policy(policy))

    charges = [float(row["charge"]) for _, row in sorted(usage("pod").items())]
    assert charges == pytest.approx(expected, abs=1e-5)  # of milliseconds (N23)
    card = gpus()["GPU-1"]
    assert (card["wall_ms"], card["wall_charge"]) == (HOUR_MS, "2.100000")
    assert card["stranded_ms"] == 0
    assert all(row["efficiency"] == 0.5 for row in usage("pod").values())
    assert {row["code"] for row in report("issues")} == set()


def test_t13a_by_memory_two_halves_strand_nothing(tmp_path: Path) -> None:
    held_card(["3g.40gb", "3g.40gb"]).read(tmp_path, by_policy("memory"))

    assert cents(usage("pod")) == {"pod-1": "1.05", "pod-2": "1.05"}
    assert gpus()["GPU-1"]["stranded_ms"] == 0


def test_t13c_by_memory_seven_small_ones_strand_an_eighth(tmp_path: Path) -> None:
    held_card(["1g.10gb"] * 7).read(tmp_path, by_policy("memory"))

    card = gpus()["GPU-1"]
    assert card["stranded_ms"] == HOUR_MS / 8
    assert card["wall_ms"] == HOUR_MS
    assert {row["allocated_ms"] for row in usage("pod").values()} == {HOUR_MS / 8}


def test_t13b_the_dominant_share_is_normalised() -> None:
    layout = ["1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"]
    shapes = [shape for p in layout if (shape := shape_of(p, PRODUCT)) is not None]

    charges = [Fraction(21, 10) * w for w in weights(shapes, Policy.DOMINANT)]

    assert charges == [Fraction(n, 100) for n in (28, 28, 56, 98)]
    assert sum(charges) == Fraction(21, 10)
