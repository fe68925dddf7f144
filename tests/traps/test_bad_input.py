"""Input that nobody should write: nothing of it reaches a bill, and an issue names it.

Not here: more held than there is (test_too_much), claims (tests/integration), files
that are no exposition text (tests/integration/metering/sources).
"""

from pathlib import Path

import pytest

from tests.integration.metering.support import report, run
from tests.traps.scene import (
    HOUR,
    HOUR_MS,
    KUBE,
    Pod,
    Scene,
    gpus,
    issues,
    states,
    usage,
)
from tests.traps.shapes import mig_node, part

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {
    "64 KiB": ("x" * 65_536, "label_too_long"),
    "control character": ("a\x1b[31mb", "odd_label"),
    "mark that turns the text": ("a\u202eb", "odd_label"),
    "right to left": ("אימון", "odd_label"),
    "markup": ("</script><script>alert(1)</script>", "odd_label"),
    "formula": ("=cmd()", "odd_label"),
    "formula of a sum": ("@SUM(A1)", "odd_label"),
    "formula with a sign": ("-2+3", "odd_label"),
    "template that nobody filled": ("{{ .Name }}", "odd_label"),
    "letter that poses as another": ("tr\u0430in", "odd_label"),
}


def shown() -> Scene:
    """A node with two GPUs of which `good` holds one."""
    told = Scene()
    told.node(units=2)
    told.pod(Pod("good"))
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "good"})
    return told


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", ["name", "namespace", "uid"])
def test_a_pod_of_no_name_is_in_no_bill(where: str, name: str, tmp_path: Path) -> None:
    text, code = NAMES[name]
    told = shown()
    fields = {"name": "odd", "namespace": "vision", "uid": "uid-odd"} | {where: text}
    told.pod(Pod(**fields))  # type: ignore[arg-type]  # all three are text
    told.gpu("GPU-2", 1)

    told.read(tmp_path)

    assert set(usage("pod")) == {"good"}
    assert states(gpus()["GPU-2"]) == {"stray": HOUR_MS}
    label = {"name": "pod"}.get(where, where)
    assert (code, f"kube_pod_info: {label}") in issues()
    assert text not in run("report", "usage", "--by=pod", "--format=csv")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", ["UUID", "Hostname"])
def test_a_gpu_of_no_name_is_in_no_bill(label: str, name: str, tmp_path: Path) -> None:
    text, code = NAMES[name]
    told = shown()
    told.gpu("GPU-2", 1, {label: text})

    told.read(tmp_path)

    assert set(gpus()) == {"GPU-1", "n1/1"}
    assert (code, f"DCGM_FI_PROF_GR_ENGINE_ACTIVE: {label}") in issues()


def test_what_kube_state_says_of_a_pod_without_owner_is_a_name(tmp_path: Path) -> None:
    told = shown()
    key = {"namespace": "vision", "pod": "good", "uid": "uid-good"}
    nobody = {"owner_kind": "<none>", "owner_name": "<none>"}
    told.add(
        "kube_pod_owner", 1, KUBE | key | nobody | {"owner_is_controller": "<none>"}
    )

    told.read(tmp_path)

    assert issues() == set()


def test_a_profile_of_no_table_books_nothing(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {"9g.99gb": 3, "1g.10gb": 1})
    told.pod(Pod("odd", resource="nvidia_com_mig_9g_99gb"))
    told.pod(Pod("good", resource="nvidia_com_mig_1g_10gb"))
    told.gpu("GPU-1", 1, part("9g.99gb", 3) | {"namespace": "vision", "pod": "odd"})
    told.gpu("GPU-1", 1, part("1g.10gb", 7) | {"namespace": "vision", "pod": "good"})

    told.read(tmp_path)

    assert set(usage("pod")) == {"good"}
    seventh = round(HOUR_MS / 7)
    found = states(gpus()["GPU-1"])
    assert set(found) == {"busy", "stranded"}
    assert found["busy"] == pytest.approx(seventh, abs=12)  # rounded in 12 windows
    said = {
        row["subject"]: row
        for row in report("issues")
        if row["code"] == "unknown_profile"
    }
    assert set(said) == {"vision/odd nvidia.com/mig-9g.99gb", "GPU-1 9g.99gb"}
    stake = said["vision/odd nvidia.com/mig-9g.99gb"]["at_stake_ms"]
    assert stake == (HOUR - 30) * 1000  # to its last sample, as of one GPU


def test_an_instance_with_media_engines_is_one_seventh(tmp_path: Path) -> None:
    """`1g.10gb+me` of the exporter is `mig-1g.10gb.me` of the resource."""
    told = Scene()
    mig_node(told, {"1g.10gb+me": 1, "1g.10gb": 6})
    told.pod(Pod("a", resource="nvidia_com_mig_1g_10gb_me"))
    told.gpu("GPU-1", 0.5, part("1g.10gb+me", 7))
    for n in range(8, 14):
        told.gpu("GPU-1", 0, part("1g.10gb", n))

    told.read(tmp_path)

    row = usage("pod")["a"]
    assert row["allocated_ms"] == pytest.approx(HOUR_MS / 7, abs=12)
    assert row["busy_ms"] == pytest.approx(HOUR_MS / 14, abs=12)
    [hold] = report("holds")
    assert (hold["resource"], hold["share"]) == ("nvidia.com/mig-1g.10gb.me", "1/7")
    assert issues() == set()
