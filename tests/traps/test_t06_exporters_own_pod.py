"""T6: the exporter's own pod taken for the workload."""

from pathlib import Path

import pytest

from tests.traps.scene import HOUR_MS, Pod, Scene, gpus, hours, states, usage

pytestmark = pytest.mark.django_db(transaction=True)

OWN = {"namespace": "gpu-operator", "pod": "dcgm-x7"}
EXPORTED = {"exported_namespace": "team-fraud", "exported_pod": "train-0"}
PLAIN = {"namespace": "team-fraud", "pod": "train-0"}


def scene(a: dict[str, str], b: dict[str, str], *, has_targets: bool) -> Scene:
    """One of two GPUs is held; how their samples name a pod depends on honor_labels."""
    found = Scene()
    found.node(units=2)
    found.pod(Pod("train-0", namespace="team-fraud"))
    found.gpu("GPU-a", 0.9, a)
    found.gpu("GPU-b", 0.0, b)
    if has_targets:
        found.add("up", 1, {"job": "dcgm-exporter", "instance": "n1:9400"} | OWN)
    return found


def naive(told: Scene) -> dict[str, set[str]]:
    """Who has which GPU, by the label `namespace`."""
    owners: dict[str, set[str]] = {}
    for sample in told.samples:
        if uuid := sample.labels.get("UUID"):
            owners.setdefault(sample.labels["namespace"], set()).add(uuid)
    return owners


@pytest.mark.parametrize(
    ("a", "b", "has_targets"),
    [
        pytest.param(OWN | EXPORTED, OWN, False, id="honor_labels=false"),
        pytest.param(PLAIN, OWN, True, id="honor_labels=true"),
        pytest.param(PLAIN, OWN, False, id="honor_labels=true, targets not known"),
    ],
)
def test_t6_the_exporter_holds_nothing(
    a: dict[str, str], b: dict[str, str], has_targets: bool, tmp_path: Path
) -> None:
    told = scene(a, b, has_targets=has_targets)
    assert "GPU-b" in naive(told)["gpu-operator"]

    told.read(tmp_path)

    rows = usage("namespace")
    assert set(rows) == {"team-fraud"}
    assert hours(rows["team-fraud"]["busy_ms"]) == 0.9
    assert not rows["team-fraud"]["estimated"]
    assert states(gpus()["GPU-a"]) == {"busy": 3_240_000, "idle": 360_000}
    assert states(gpus()["GPU-b"]) == {"free": HOUR_MS}
