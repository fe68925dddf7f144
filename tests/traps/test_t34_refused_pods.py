"""T34: pods that the kubelet refused never had a device."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.metering.support import report
from tests.traps.scene import (
    HOUR,
    HOUR_MS,
    KUBE,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    issues,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

AT = START + 600  # a scrape
BOUND = AT - 20
REFUSED = Pod("r-0", namespace="speech", bound=BOUND, created=BOUND - 1, phase="Failed")


def scene(*pods: Pod, reason: str = "", address: str = "") -> Scene:
    """A GPU that a pod holds, another one, and pods that fail."""
    told = Scene()
    told.node(units=2)
    told.pod(Pod("serve-0"), *pods)
    told.gpu("GPU-a", 0.5, {"namespace": "vision", "pod": "serve-0"})
    told.gpu("GPU-b", 0)
    for pod in pods:
        assert pod.finished is not None
        there = [at for at in told.scrapes if at >= pod.finished]
        if reason:
            key = KUBE | pod.key | {"reason": reason}
            told.add("kube_pod_status_reason", 1, key, there)
        if address:
            key = KUBE | pod.key | {"node": pod.node, "pod_ip": address}
            told.add("kube_pod_info", 1, key, there)
    return told


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(replace(REFUSED, finished=BOUND), reason, id=reason or "no reason")
        for reason in (
            "UnexpectedAdmissionError",
            "NodeAffinity",
            "OutOfcpu",
            "Evicted",
            "",
        )
    ]
    + [
        pytest.param(
            replace(REFUSED, bound=AT - 1, finished=AT + 1, is_started=False),
            "UnexpectedAdmissionError",
            id="scraped between bind and refusal",
        ),
        pytest.param(
            replace(REFUSED, finished=BOUND, units=3), "", id="OutOfnvidia.com/gpu"
        ),
    ],
)
def test_t34_a_refused_pod_held_nothing(pod: Pod, reason: str, tmp_path: Path) -> None:
    scene(pod, reason=reason).read(tmp_path)

    hold = holds()["uid-r-0"]
    assert hold["bound"] == hold["ended"]
    assert hold["ended_by"] == "Failed"
    assert set(usage("namespace")) == {"vision"}
    assert states(gpus()["GPU-b"]) == {"free": HOUR_MS}
    assert issues() == {("pod_refused", "n1")}
    [found] = report("issues")
    assert "speech/r-0" in found["message"]


RAN = replace(REFUSED, finished=AT + 300)
KEPT = {
    "evicted while its image was pulled": (
        replace(REFUSED, finished=AT + 300, is_started=False),
        "Evicted",
        "",
    ),
    "it ran": (RAN, "UnexpectedAdmissionError", ""),
    "preempted by the kubelet": (RAN, "Preempting", ""),
    "its containers ended": (
        replace(REFUSED, finished=BOUND + 10, completion=BOUND + 10),
        "",
        "",
    ),
    "it had an address": (replace(REFUSED, finished=BOUND), "", "10.0.0.9"),
}


@pytest.mark.parametrize(("pod", "reason", "address"), KEPT.values(), ids=KEPT)
def test_t34_a_failed_pod_that_had_a_device_is_billed(
    pod: Pod, reason: str, address: str, tmp_path: Path
) -> None:
    scene(pod, reason=reason, address=address).read(tmp_path)

    assert usage("namespace")["speech"]["allocated_ms"] > 0
    assert issues() == {("unmapped_namespace", "speech")}


def test_t34_many_refused_pods_take_nothing_from_each_other(tmp_path: Path) -> None:
    """One every ten seconds, as a controller makes them; each stays listed."""
    pods = [
        replace(REFUSED, name=f"r-{n}", bound=AT + n * 10, finished=AT + n * 10)
        for n in range(60)
    ]
    scene(*pods).read(tmp_path)

    assert len(holds()) == 61
    assert set(usage("namespace")) == {"vision"}
    assert usage("pod")["serve-0"]["allocated_ms"] == HOUR * 1000
    assert issues() == {("pod_refused", "n1")}


@pytest.mark.parametrize(
    ("reason", "held_ms"), [("", 240_000), ("UnexpectedAdmissionError", 0)]
)
def test_t34_a_pod_that_samples_name_ran(
    reason: str, held_ms: int, tmp_path: Path
) -> None:
    """Failed four minutes after its bind; kube-state saw neither Running nor an address."""
    pod = replace(REFUSED, bound=AT, finished=AT + 240, is_started=False)
    told = Scene()
    told.node(units=2)
    told.pod(pod)
    if reason:
        there = [at for at in told.scrapes if at >= AT + 240]
        key = KUBE | pod.key | {"reason": reason}
        told.add("kube_pod_status_reason", 1, key, there)
    told.gpu("GPU-a", 0)
    busy = [at for at in told.scrapes if AT + 30 <= at < AT + 240]
    told.gpu("GPU-b", 0.9, {"namespace": "speech", "pod": "r-0"}, at=busy)

    told.read(tmp_path)

    hold = holds()["uid-r-0"]
    assert (hold["ended_by"], hold["bound"] == hold["ended"]) == ("Failed", not held_ms)
    rows = usage("namespace")
    assert held_ms == (rows["speech"]["allocated_ms"] if held_ms else 0)
    assert (("pod_refused", "n1") in issues()) == (not held_ms)


def test_t34_one_label_that_lags_is_no_sign_that_a_pod_ran(tmp_path: Path) -> None:
    """An earlier pod of its name had the GPU."""
    pod = replace(REFUSED, bound=AT, finished=AT + 60, is_started=False)
    told = scene(pod)
    told.gpu("GPU-b", 0, {"namespace": "speech", "pod": "r-0"}, at=[AT])

    told.read(tmp_path)

    assert ("pod_refused", "n1") in issues()
    assert holds()["uid-r-0"]["bound"] == holds()["uid-r-0"]["ended"]
