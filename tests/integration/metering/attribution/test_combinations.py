"""Several things happen to one GPU in one window: numbers computed by hand from rules.md.

Where the oracle knows the shape it must say the same, to the millisecond, of all windows.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.metering.support import report
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


def ledger_of_all() -> dict[str, dict[str, int]]:
    """States of every GPU in the window."""
    return {row["gpu"]: states(row) for row in report("ledger", by="gpu", **WINDOW)}


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


def test_whole_gpus_and_parts_on_one_node_without_labels(tmp_path: Path) -> None:
    """A pool for each kind of unit, each filled in the order of its own busy time (N18)."""
    told = Scene(LENGTH, STEP)
    big = "nvidia_com_mig_3g_40gb"
    told.node(units={"nvidia_com_gpu": 1, big: 2}, labels=MIG | {"gpu_count": 2})
    told.pod(Pod("w"), Pod("m", resource=big))
    told.gpu("GPU-0", 0.5)
    told.gpu("GPU-1", 0.2, part("3g.40gb", 1))
    told.gpu("GPU-1", 0.9, part("3g.40gb", 2))

    told.read(tmp_path)

    assert held() == {"w": (150_000, 150_000, 0), "m": (115_714, 12_857, 0)}
    assert ledger_of_all() == {
        "GPU-0": {"busy": 150_000, "idle": 150_000},
        "GPU-1": {
            "busy": 115_714,
            "idle": 12_857,
            "free": 102_857,
            "stranded": 42_857,
            "stray": 25_715,
        },
    }
    assert differences(ledger(of_oracle(told))) == []


def test_replicas_of_instances_under_the_single_strategy(tmp_path: Path) -> None:
    """A fourteenth of the card; one label says nothing, and the busy instance is filled."""
    told = Scene(LENGTH, STEP)
    labels = {"gpu_count": 7, "gpu_replicas": 2, "mig_strategy": "single"}
    told.node(units=14, labels=labels, product=f"{PRODUCT}-MIG-1g.10gb-SHARED")
    told.pod(Pod("a"))
    for n in range(7, 14):
        who = named("a") if n == 9 else {}
        told.gpu("GPU-1", 0.5 if n == 9 else 0, who | part("1g.10gb", n))

    told.read(tmp_path)

    assert held() == {"a": (21_429, 0, 0)}
    assert ledger_of() == {"busy": 21_429, "free": 278_571}


def test_a_held_gpu_is_shared_from_now_on(tmp_path: Path) -> None:
    """A whole one and a quarter do not fit: both are scaled, with an issue (N20)."""
    told = Scene(LENGTH, STEP)
    for low, high, replicas in ((0, 150, 1), (150, LENGTH, 4)):
        labels = {"gpu_count": 1, "gpu_replicas": replicas}
        told.node("n1", replicas, labels, at=between(told, low, high))
    late = START + 180
    told.pod(Pod("w"), Pod("s", created=late, bound=late))
    told.gpu("GPU-1", 1, named("w"), at=between(told, 0, 180))
    for n, pod in enumerate("ws"):
        told.gpu("GPU-1", 1, named(pod, vgpu=n), at=between(told, 180, LENGTH))

    told.read(tmp_path)

    assert held() == {"w": (276_000, 0, 0), "s": (24_000, 0, 0)}
    assert ledger_of() == {"busy": 300_000}
    assert {code for code, _ in issues()} == {"too_many_holders"}
    assert differences(ledger(of_oracle(told))) == []


def test_a_gpu_is_divided_under_the_pod_that_holds_it(tmp_path: Path) -> None:
    """What it held is not there any more: it books nothing, with an issue (N17, N20)."""
    told = Scene(LENGTH, STEP)
    small = "nvidia_com_mig_1g_10gb"
    before, after = between(told, 0, 150), between(told, 150, LENGTH)
    told.node("n1", {"nvidia_com_gpu": 1, small: 0}, MIG, at=before)
    told.node("n1", {"nvidia_com_gpu": 0, small: 7}, MIG, at=after)
    told.pod(Pod("w"))
    told.gpu("GPU-1", 1, named("w"), at=before)
    for n in range(7, 14):
        told.gpu("GPU-1", 0, part("1g.10gb", n), at=after)

    told.read(tmp_path)

    assert held() == {"w": (150_000, 0, 0)}
    assert ledger_of() == {"busy": 150_000, "free": 150_000}
    assert {code for code, _ in issues()} == {"more_held_than_there"}
    assert differences(ledger(of_oracle(told))) == []


@pytest.mark.parametrize("extra", ["GPU-0", "GPU-2"])
def test_a_request_behind_a_claim_beside_a_claim_of_its_own(
    extra: str, tmp_path: Path
) -> None:
    """One GPU by the request, whose claim is not a second one, and one by its own claim."""
    told = Scene(LENGTH, STEP)
    told.node(units=1)
    told.pod(Pod("a"))
    claims = (("a-extended-resources-x7", "GPU-1", 0.5), ("a-extra", extra, 1))
    for name, uuid, utilization in claims:
        key = {"namespace": "vision", "pod": "a", "uid": "uid-a"}
        claim = {"claim_name": "gpu", "resourceclaim_name": name}
        told.add("kube_pod_resourceclaim_info", 1, KUBE | key | claim)
        dra = {"dra_claim_name": name, "dra_claim_namespace": "vision"}
        dra |= {"dra_driver_name": "gpu.nvidia.com", "dra_device_name": uuid.lower()}
        told.gpu(uuid, utilization, named("a") | dra)

    told.read(tmp_path)

    assert held() == {"a": (450_000, 150_000, 0)}
    assert ledger_of_all() == {
        "GPU-1": {"busy": 150_000, "idle": 150_000},
        extra: {"busy": 300_000},
    }
    assert issues() == set()


def kai(told: Scene, pod: str, fraction: float | None, group: str) -> None:
    """A pod of a GPU group, with a fraction or as the reservation."""
    space = "vision" if fraction else "kai-resource-reservation"
    told.pod(Pod(pod, namespace=space, units=0 if fraction else 1))
    key = KUBE | {"namespace": space, "pod": pod, "uid": f"uid-{pod}"}
    told.add("kube_pod_labels", 1, key | {"label_runai_gpu_group": group})
    if fraction:
        told.add("kube_pod_annotations", 1, key | {"annotation_gpu_fraction": fraction})


@pytest.mark.parametrize(
    ("fractions", "first", "second", "free", "said"),
    [
        ((0.5, 0.25), (120_000, 30_000), (60_000, 15_000), 75_000, set()),
        ((0.7, 0.7), (90_000, 60_000), (90_000, 60_000), 0, {"too_many_holders"}),
    ],
)
def test_fractions_of_one_group_beside_a_whole_gpu(  # what a case is
    fractions: tuple[float, float],
    first: tuple[int, int],
    second: tuple[int, int],
    free: int,
    said: set[str],
    tmp_path: Path,
) -> None:
    told = Scene(LENGTH, STEP)
    told.node(units=2)
    kai(told, "a", fractions[0], "g1")
    kai(told, "b", fractions[1], "g1")
    kai(told, "reserves", None, "g1")
    told.pod(Pod("w"))
    reserving = {"namespace": "kai-resource-reservation", "pod": "reserves"}
    told.gpu("GPU-1", 0.6, reserving)
    told.gpu("GPU-0", 0.3, named("w"))

    told.read(tmp_path)

    assert held() == {
        "a": (*first, 0),
        "b": (*second, 0),
        "w": (90_000, 210_000, 0),
    }
    assert ledger_of_all()["GPU-1"].get("free", 0) == free
    assert {code for code, _ in issues()} == said


def test_hami_pods_that_ask_for_more_than_there_is(tmp_path: Path) -> None:
    """Cores of 60 and 90 percent: the GPU is divided as 2 to 3, with an issue (N20)."""
    told = Scene(LENGTH, STEP)
    told.node(units=10, labels={"label_gpu": "on", "gpu_count": 1})
    for pod, cores in (("a", 60), ("b", 90)):
        told.pod(Pod(pod))
        key = KUBE | {"namespace": "vision", "pod": pod, "uid": f"uid-{pod}"}
        what = {"container": "main", "node": "n1", "resource": "nvidia_com_gpucores"}
        told.add("kube_pod_container_resource_requests", cores, key | what)
    told.gpu("GPU-1", 0.5)

    told.read(tmp_path)

    assert held() == {"a": (60_000, 60_000, 0), "b": (90_000, 90_000, 0)}
    assert ledger_of() == {"busy": 150_000, "idle": 150_000}
    assert {code for code, _ in issues()} == {"more_held_than_there"}


@pytest.mark.parametrize(
    ("accelerator", "size", "memory"),
    [
        ("nvidia-tesla-a100", "1g.5gb", "40GB"),
        ("nvidia-a100-80gb", "1g.10gb", "80GB"),
    ],
)
def test_gke_divides_and_shares_a_card(
    accelerator: str, size: str, memory: str, tmp_path: Path
) -> None:
    """Two clients of each seventh; GKE calls the A100 of 40 GB tesla."""
    told = Scene(LENGTH, STEP)
    gke = {
        "label_cloud_google_com_gke_accelerator": accelerator,
        "label_cloud_google_com_gke_gpu_partition_size": size,
        "label_cloud_google_com_gke_gpu_sharing_strategy": "time-sharing",
        "label_cloud_google_com_gke_max_shared_clients_per_gpu": 2,
    }
    told.node(units=14, labels=gke, product="")
    told.pod(Pod("a"))
    for n in range(7, 14):
        model = {"modelName": f"NVIDIA A100-SXM4-{memory}"}
        told.gpu("GPU-1", 0.5 if n == 9 else 0, model | part(size, n))

    told.read(tmp_path)

    assert held() == {"a": (21_429, 0, 0)}
    assert ledger_of() == {"busy": 21_429, "free": 278_571}
    assert {code for code, _ in issues()} <= {"unpriced_gpu"}


@pytest.mark.parametrize("uid", ["", "uid-"])
def test_a_claim_is_given_another_device_for_the_next_pod(
    uid: str, tmp_path: Path
) -> None:
    """A named claim outlives its pods: each holds what it was given then, one GPU."""
    told = Scene(LENGTH, STEP)
    told.node(units={})
    late = START + 180
    told.pod(ended("a", 120, units=0), Pod("b", units=0, created=late, bound=late))
    for pod, gpu, low, high in (("a", "GPU-1", 0, 120), ("b", "GPU-2", 180, LENGTH)):
        key = {"namespace": "vision", "pod": pod, "uid": f"uid-{pod}"}
        claim = {"claim_name": "gpu", "resourceclaim_name": "mine"}
        at = between(told, low, LENGTH)
        told.add("kube_pod_resourceclaim_info", 1, KUBE | key | claim, at)
        dra: dict[str, object] = {
            "dra_claim_name": "mine",
            "dra_claim_namespace": "vision",
            "dra_driver_name": "gpu.nvidia.com",
            "dra_device_name": gpu.lower(),
        }
        if uid:
            dra["pod_uid"] = f"{uid}{pod}"
        told.gpu(gpu, 0.5, named(pod) | dra, at=between(told, low, high))
        others = [t for t in told.scrapes if not low <= t - START < high]
        told.gpu(gpu, 0, at=others)

    told.read(tmp_path)

    assert held() == {"a": (60_000, 60_000, 0), "b": (60_000, 60_000, 0)}
    assert {row["units"] for row in report("holds")} == {1}
    assert ledger_of_all() == {
        "GPU-1": {"busy": 60_000, "idle": 60_000, "free": 180_000},
        "GPU-2": {"busy": 60_000, "idle": 60_000, "free": 180_000},
    }


def test_a_gpu_is_swapped_under_the_pod_that_holds_it(tmp_path: Path) -> None:
    """It goes to another node, where it is free; another one takes its place 30 s later."""
    told = Scene(LENGTH, STEP)
    told.node("n1")
    told.node("n2")
    told.pod(Pod("a"))
    told.gpu("GPU-1", 0.5, named("a"), at=between(told, 0, 120))
    told.gpu("GPU-1", 0, node="n2", at=between(told, 150, LENGTH))
    told.gpu("GPU-9", 1, named("a"), at=between(told, 150, LENGTH))

    told.read(tmp_path)

    # 120 s of 0.5, 30 s on a placeholder, 150 s of 1
    assert held() == {"a": (210_000, 60_000, 30_000)}
    assert ledger_of_all() == {
        "GPU-1": {"busy": 60_000, "idle": 60_000, "free": 150_000},
        "GPU-9": {"busy": 150_000},
        "n1/0": {"unknown": 30_000},
        "n2/0": {"free": 150_000},
    }
    assert differences(ledger(of_oracle(told))) == []
