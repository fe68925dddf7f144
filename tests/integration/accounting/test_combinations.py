"""Several things happen to one GPU in one window: numbers computed by hand from rules.md.

Where the oracle knows the shape it must say the same, to the millisecond, of all windows.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.accounting.support import report
from tests.oracle.comparison import differences
from tests.oracle.ledger import ledger
from tests.oracle.samples import Sample
from tests.traps.scene import KUBE, PRODUCT, START, Pod, Scene, issues, states
from tests.traps.shapes import part

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH, STEP = 330, 30  # one window, and the scrape at its end
WINDOW = {"from": "2026-10-01T10:00:00Z", "to": "2026-10-01T10:05:00Z"}
MIG = {"gpu_count": 1, "mig_strategy": "mixed"}


def between(told: Scene, low: int, high: int) -> list[float]:
    """Scrape times from `low` on and before `high`, in seconds after the hour."""
    return [at for at in told.scrapes if low <= at - START < high]


def named(pod: str, **more: object) -> dict[str, object]:
    """Labels that name a pod."""
    return {"namespace": "vision", "pod": pod} | more


def ended(name: str, second: int, **more: Any) -> Pod:
    """A pod whose containers ended at a second."""
    at = START + second
    return Pod(name, finished=at, completion=at, **more)


def ledger_of() -> dict[str, int]:
    """States of the only GPU in the window."""
    [row] = report("ledger", by="gpu", **WINDOW)
    return states(row)


def held() -> dict[str, tuple[int, int, int]]:
    """Busy, idle and unknown of each pod in the window."""
    return {
        row["pod"]: (row["busy_ms"], row["idle_ms"], row["unknown_ms"])
        for row in report("usage", by="pod", **WINDOW)
    }


def of_oracle(told: Scene) -> Iterable[Sample]:
    """The scene as the oracle reads it."""
    for shown in told.samples:
        yield Sample(shown.name, shown.labels, round(shown.at * 1000), shown.value)


def test_a_gpu_is_divided_anew_while_its_exporter_restarts(tmp_path: Path) -> None:
    """Two 3g.40gb until 10:03, as the last scrape before the restart showed; then seven 1g."""
    told = Scene(LENGTH, STEP)
    before, after = between(told, 0, 120), between(told, 180, LENGTH)
    big, small = "nvidia_com_mig_3g_40gb", "nvidia_com_mig_1g_10gb"
    told.node("n1", {big: 2, small: 0}, MIG, at=before)
    told.node("n1", {big: 0, small: 7}, MIG, at=between(told, 120, LENGTH))
    told.pod(
        ended("a", 120, resource=big),
        Pod("b", resource=small, created=START + 180, bound=START + 180),
    )
    told.gpu("GPU-1", 0.7, named("a", **part("3g.40gb", 1)), at=before)
    told.gpu("GPU-1", 0, part("3g.40gb", 2), at=before)
    for n in range(7, 14):
        who = named("b") if n == 7 else {}
        told.gpu("GPU-1", int(n == 7), who | part("1g.10gb", n), at=after)

    told.read(tmp_path)

    # a: 3/7 x 120 s, 0.7 of it busy; b: 1/7 x 120 s, all of it busy
    assert held() == {"a": (36_000, 15_428, 0), "b": (17_143, 0, 0)}
    assert ledger_of() == {
        "busy": 53_143,
        "idle": 15_428,
        "free": 205_715,  # 3/7 x 120, 6/7 x 60, 6/7 x 120 s
        "stranded": 25_714,  # 1/7 x 180 s
    }
    assert differences(ledger(of_oracle(told))) == []


def test_replicas_are_lowered_while_pods_hold_them(tmp_path: Path) -> None:
    """A hold's unit is that of its bind: two quarters stay quarters beside a half."""
    told = Scene(LENGTH, STEP)
    for low, high, replicas in ((0, 150, 4), (150, LENGTH, 2)):
        labels = {"gpu_count": 1, "gpu_replicas": replicas}
        product = f"{PRODUCT}-SHARED"
        told.node("n1", replicas, labels, product, between(told, low, high))
    late = START + 180
    told.pod(Pod("a"), Pod("b"), Pod("c", created=late, bound=late))
    for n, pod in enumerate("abc"):
        at = between(told, 180 if pod == "c" else 0, LENGTH)
        told.gpu("GPU-1", 0.8, named(pod, vgpu=n), at=at)

    told.read(tmp_path)

    # 180 s of 0.8 for two quarters: both full, 0.3 stray; then 0.2, 0.2 and 0.4
    assert held() == {
        "a": (45_000 + 24_000, 6_000, 0),
        "b": (45_000 + 24_000, 6_000, 0),
        "c": (48_000, 12_000, 0),
    }
    assert ledger_of() == {
        "busy": 186_000,
        "idle": 24_000,
        "free": 36_000,
        "stray": 54_000,
    }
    assert issues() == set()
    assert differences(ledger(of_oracle(told))) == []


def test_one_pod_of_a_shared_claim_ends(tmp_path: Path) -> None:
    """Each of two has a half for its whole hold; what the other leaves is free, or stray."""
    told = Scene(LENGTH, STEP)
    told.node(units={})
    told.pod(ended("a", 150, units=0), Pod("b", units=0))
    for pod, until in (("a", 150), ("b", LENGTH)):
        key = {"namespace": "vision", "pod": pod, "uid": f"uid-{pod}"}
        claim = {"claim_name": "gpu", "resourceclaim_name": "pair"}
        told.add("kube_pod_resourceclaim_info", 1, KUBE | key | claim)
        dra = {
            "dra_claim_name": "pair",
            "dra_claim_namespace": "vision",
            "dra_driver_name": "gpu.nvidia.com",
            "dra_pool_name": "n1",
            "dra_device_name": "gpu-0",
        }
        told.gpu("GPU-1", 0.6, named(pod) | dra, at=between(told, 0, until))

    told.read(tmp_path)

    # 150 s of 0.3 each; then b is busy for all of its half, and 0.1 is stray
    assert held() == {"a": (45_000, 30_000, 0), "b": (45_000 + 75_000, 30_000, 0)}
    assert ledger_of() == {
        "busy": 165_000,
        "idle": 60_000,
        "free": 60_000,
        "stray": 15_000,
    }


def test_an_amd_card_is_divided_between_two_pods(tmp_path: Path) -> None:
    """Whole until 10:03, then eight parts of which partition 0 shows values."""
    told = Scene(LENGTH, STEP)
    amd = {"job": "amd", "instance": "n1:5000", "hostname": "n1"}
    amd |= {"serial_number": "CARD-1", "card_series": "AMD Instinct MI300X"}
    labels = {"label_amd_com_gpu_product_name": "AMD_Instinct_MI300X"}
    for low, high, units, mode in (
        (0, 180, 1, "spx_nps1"),
        (180, LENGTH, 8, "cpx_nps1"),
    ):
        mode_label = {"label_amd_com_compute_memory_partition": mode}
        at = between(told, low, high)
        told.node("n1", {"amd_com_gpu": units}, labels | mode_label, "", at)
    late = START + 180
    told.pod(
        ended("a", 120, resource="amd_com_gpu"),
        Pod("b", resource="amd_com_gpu", created=late, bound=late),
    )
    whole = amd | {"gpu_partition_id": "0", "gpu_compute_partition_type": "spx"}
    told.add("gpu_gfx_activity", 50, whole | named("a"), between(told, 0, 120))
    told.add("gpu_gfx_activity", 0, whole, between(told, 120, 180))
    for n in range(8):
        cut = {"gpu_partition_id": str(n), "gpu_compute_partition_type": "cpx"}
        who = named("b") if n == 0 else {}
        value = 80 if n == 0 else 0
        told.add("gpu_gfx_activity", value, amd | cut | who, between(told, 180, LENGTH))

    told.read(tmp_path)

    # a: 120 s of 0.5; b: an eighth of 120 s, 0.8 of it busy
    assert held() == {"a": (60_000, 60_000, 0), "b": (12_000, 3_000, 0)}
    assert ledger_of() == {"busy": 72_000, "idle": 63_000, "free": 165_000}


def test_a_pair_of_exporters_with_clocks_apart(tmp_path: Path) -> None:
    """The one with more samples counts, the other before its first one only (N3)."""
    told = Scene(LENGTH, STEP)
    told.node()
    told.pod(Pod("a"))
    first = [at for at in told.scrapes if not 120 <= at - START < 210]
    told.gpu("GPU-1", 0.4, named("a", prometheus_replica="a"), at=first)
    second = [at + 13 for at in told.scrapes]
    told.gpu("GPU-1", 0.6, named("a", prometheus_replica="b"), at=second)

    told.read(tmp_path)

    # 13 s of 0.4, 287 s of 0.6
    assert held() == {"a": (177_400, 122_600, 0)}
    assert ledger_of() == {"busy": 177_400, "idle": 122_600}
    assert differences(ledger(of_oracle(told))) == []
