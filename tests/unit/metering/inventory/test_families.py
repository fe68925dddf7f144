"""The family of a workload by its name, kind and label (rules.md N41)."""

import pytest

from accounting.metering.rules.inventory.families import family_of

EXAMPLES = [
    # generateName of Kubernetes
    ("Job", "train-7xk2p", "train"),
    ("Pod", "train-bcdfg", "train"),
    # a Job whose CronJob is not shown: minutes since 1970
    ("Job", "nightly-28391040", "nightly"),
    ("CronJob", "nightly", "nightly"),
    # Deployments keep their name; a ReplicaSet whose Deployment is not shown loses its hash
    ("Deployment", "web-17", "web-17"),
    ("Deployment", "chat-predictor-00003-deployment", "chat-predictor"),
    ("ReplicaSet", "web-5d4f8c7b9d", "web"),
    ("ReplicaSet", "web-17-5d4f8c7b9d", "web-17"),
    ("ReplicaSet", "chat-00003-deployment-5d4f8c7b9d", "chat"),
    ("StatefulSet", "search-2", "search-2"),
    ("DaemonSet", "probe-7xk2p", "probe-7xk2p"),
    # pods without a controller that is shown
    ("Pod", "web-5d4f8c7b9d-xkqzw", "web"),
    ("Pod", "search-0", "search"),
    ("Pod", "render-scenes-cwt2q-0", "render-scenes"),
    # Argo: code, then FNV of the step; Katib: eight letters; Ray: the cluster of a RayJob
    ("Workflow", "etl-x7k2p", "etl"),
    ("Pod", "etl-x7k2p-2748194721", "etl"),
    ("PyTorchJob", "tune-7xk2pwz4", "tune"),
    ("RayCluster", "tune-raycluster-7xk2p", "tune"),
    ("RayCluster", "shared-raycluster", "shared-raycluster"),
    # numbers, dates, digests
    ("Job", "sweep-17", "sweep"),
    ("Job", "sweep-17-7xk2p", "sweep"),
    ("Job", "train-20241128", "train"),
    ("Job", "train-2024-11-28", "train"),
    ("Job", "train-20241128-153012", "train"),
    ("Job", "train-2024-11-28-15-30-12-7xk2p", "train"),
    ("Job", "train-20241128t153012z", "train"),
    ("Job", "train-1732807812345", "train"),
    ("Job", "train-3f2b8c1e-9d4a-4c1b-8f2e-0a1b2c3d4e5f", "train"),
    ("Job", "train-3f2b8c1", "train"),
    ("Job", "train-da39a3ee5e6b4b0d3255bfef95601890afd80709", "train"),
    # only looks generated
    ("Job", "model-v2", "model-v2"),
    ("Job", "bert-large", "bert-large"),
    ("Job", "llama-70b", "llama-70b"),
    ("Job", "llama-3-70b", "llama-3-70b"),
    ("Job", "run-2024", "run-2024"),
    ("Job", "run-2024-17", "run-2024"),
    ("Job", "llama-nvfp4", "llama-nvfp4"),
    ("Job", "llama-mxfp8-17", "llama-mxfp8"),
    ("Job", "llm-sdxl", "llm-sdxl"),
    ("Job", "codec-h264", "codec-h264"),
    ("Job", "train-deadbeef", "train-deadbeef"),
    ("Job", "eval-a100", "eval-a100"),
    # nothing is left, or nothing is generated
    ("Job", "7xk2p", "7xk2p"),
    ("Job", "17-18", "17"),
    ("Pod", "train_7xk2p", "train_7xk2p"),
    ("Pod", "", ""),
    # known to be wrong without the label: the number belongs to the model
    ("Job", "resnet-50", "resnet"),
]


@pytest.mark.parametrize(("kind", "name", "family"), EXAMPLES)
def test_a_family_is_the_name_without_what_was_generated(
    kind: str, name: str, family: str
) -> None:
    assert family_of(name, kind) == family


@pytest.mark.parametrize("kind", ["Deployment", "Job", "Pod", "ReplicaSet"])
def test_a_label_names_the_family_of_any_kind(kind: str) -> None:
    assert family_of("train-7xk2p", kind, "ResNet-50.v1_a") == "ResNet-50.v1_a"


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "-x", "x-", "a b", "a/b", "<b>x</b>", "x\n", "x\x00", "ü"),
        *("=1+1", "'; --", "x" * 64),
    ],
)
def test_a_value_that_kubernetes_would_refuse_is_no_family(value: str) -> None:
    assert family_of("train-7xk2p", "Job", value) == "train"


def test_a_family_is_its_own_family() -> None:
    """Work of a family whose name was shortened once is not shortened again."""
    for name in ("a-7xk2p-7xk2p-1-2", "x-2024-11-28-0-bcdfg", "t-20241128-1530-17"):
        family = family_of(name, "Job")
        assert family_of(family, "Job") == family


@pytest.mark.parametrize(
    "part", ["-2224567", "-2024-11-28", "-bcdfg", "-3f2b8c1", "-raycluster", "-1"]
)
@pytest.mark.timeout(2)
def test_no_name_takes_long(part: str) -> None:
    """The longest name of Kubernetes has 253 letters; parts that could be several things."""
    name = "x" + part * (250 // len(part))
    for _ in range(100):
        assert family_of(f"{name}-y", "Job") == f"{name}-y"
        assert family_of(name, "Job").startswith("x")
