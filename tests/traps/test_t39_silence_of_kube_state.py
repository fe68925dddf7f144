"""T39: kube-state is silent for some pods, and the labels of GPU samples keep their holds."""

from pathlib import Path

import pytest

from tests.traps.scene import (
    HOUR,
    HOUR_MS,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    states,
    usage,
)
from tests.traps.shapes import mig_node, part

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
QUARTER = HOUR // 4
OTHER = {"job": "kube-state-metrics", "instance": "kube-state-1:8080"}
RESERVED = {"namespace": "kai-resource-reservation", "pod": "r1"}


def until(told: Scene, seconds: int) -> None:
    """From here on kube-state tells nothing after some seconds."""
    told.scrapes = [at for at in told.scrapes if at < START + seconds]


def fraction(told: Scene, name: str, share: str, group: str = "g1") -> None:
    """A pod that has a part of a GPU by KAI's annotation."""
    pod = Pod(name, units=0)
    told.pod(pod)
    told.add(
        "kube_pod_annotations",
        1,
        {**OTHER, **pod.key, "annotation_gpu_fraction": share},
    )
    told.add("kube_pod_labels", 1, {**OTHER, **pod.key, "label_runai_gpu_group": group})


def reserved(told: Scene) -> None:
    pod = Pod("r1", namespace="kai-resource-reservation")
    told.pod(pod)
    told.add("kube_pod_labels", 1, {**OTHER, **pod.key, "label_runai_gpu_group": "g1"})


def test_t39_tenants_of_a_fraction_are_kept_by_the_reservation(tmp_path: Path) -> None:
    told = Scene()
    told.gpu("GPU-1", 0.5, RESERVED)
    until(told, QUARTER)
    told.node(instance="kube-state-1:8080")
    fraction(told, "nb", "0.5")
    fraction(told, "serve", "0.25")
    reserved(told)
    told.read(tmp_path)

    rows = usage("pod")
    assert rows["nb"]["allocated_ms"] == HOUR_MS // 2
    assert rows["serve"]["allocated_ms"] == HOUR_MS // 4
    # what nobody asked for is free while kube-state is seen, then dark
    assert states(gpus()["GPU-1"])["dark"] == pytest.approx(HOUR_MS * 3 // 16, abs=1000)
    assert set(rows) == {"nb", "serve"}


def test_t39_a_fraction_of_another_group_is_not_kept(tmp_path: Path) -> None:
    told = Scene()
    told.gpu("GPU-1", 0.5, RESERVED)
    until(told, QUARTER)
    told.node(instance="kube-state-1:8080")
    fraction(told, "nb", "0.5", group="g2")
    reserved(told)
    told.read(tmp_path)

    assert usage("pod")["nb"]["allocated_ms"] == HOUR_MS // 8


def test_t39_the_label_ends_before_the_data(tmp_path: Path) -> None:
    """The reservation goes after half an hour: so do its fractions."""
    told = Scene()
    half = [at for at in told.scrapes if at < START + HOUR // 2]
    told.gpu("GPU-1", 0.5, RESERVED, at=half)
    told.gpu("GPU-1", 0.5, at=told.scrapes[len(half) :])
    until(told, QUARTER)
    told.node(instance="kube-state-1:8080")
    fraction(told, "nb", "0.5")
    reserved(told)
    told.read(tmp_path)

    assert usage("pod")["nb"]["allocated_ms"] == HOUR_MS // 4


def test_t39_an_instance_is_kept_by_its_label(tmp_path: Path) -> None:
    told = Scene()
    told.gpu("GPU-1", 0.5, part("7g.80gb", 0) | {"namespace": "vision", "pod": "slice"})
    until(told, QUARTER)
    mig_node(told, {"7g.80gb": 1})
    told.pod(Pod("slice", resource="nvidia_com_mig_7g_80gb"))
    told.read(tmp_path)

    assert states(gpus()["GPU-1"]) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}


@pytest.mark.parametrize("resource", ["nvidia_com_gpu", "amd_com_gpu"])
def test_t39_another_shard_that_is_back_ends_nothing(
    resource: str, tmp_path: Path
) -> None:
    """The shard of `train` dies after a quarter; the node's is away for five minutes once."""
    told = Scene()
    every = told.scrapes
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "train"})
    away = [at for at in every if not 1800 <= at - START < 2100]
    told.node(units={resource: 1}, at=away, instance="kube-state-1:8080")
    until(told, QUARTER)
    told.pod(Pod("train", resource=resource), instance="kube-state-0:8080")
    told.read(tmp_path)

    assert states(gpus()["GPU-1"]) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}
    assert holds()["uid-train"]["ended"] is None


def test_t39_the_shard_that_is_back_without_the_pod_ends_it(tmp_path: Path) -> None:
    """It is evidence: the label of a GPU outlives its pod (T18)."""
    told = Scene()
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "train"})
    told.node("n1")
    told.pod(Pod("train", gone=START + QUARTER))
    told.read(tmp_path)

    assert usage("pod")["train"]["allocated_ms"] == HOUR_MS // 4
