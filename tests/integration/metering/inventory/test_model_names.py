"""What a GPU is called that its samples do not name: so that it can have a price."""

from pathlib import Path

import pytest

from accounting.metering.models.cluster import Gpu
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import clear, report, run

pytestmark = pytest.mark.django_db(transaction=True)
HALF = HOUR_ZERO + 1800
SCRAPES = times(HOUR_ZERO, HOUR_ZERO + 3600)
SETUP = """
prices:
  - {model: habana.ai/gaudi, rate_per_gpu_hour: "1.00"}
  - {model: dl2q.24xlarge, rate_per_gpu_hour: "2.00"}
  - {model: Gaudi-3, rate_per_gpu_hour: "3.00"}
"""


def cluster(labels: dict[str, str], labelled_from: int, named_from: int) -> Text:
    """Two Gaudi cards of which one is sampled, the model known from some time on or never."""
    text = Text()
    capacity = {"node": "n1", "resource": "habana_ai_gaudi", "unit": "integer"}
    for at in SCRAPES:
        text.add("kube_node_status_capacity", capacity, 2, at)
        if labels and at >= labelled_from:
            text.add("kube_node_labels", {"node": "n1"} | labels, 1, at)
        gpu = {"UUID": "HL-1", "Hostname": "n1"}
        if at >= named_from:
            gpu["modelName"] = "Gaudi 3"
        text.add("habanalabs_utilization", gpu, 0, at)
    return text


def read(folder: Path, text: Text, cut: int | None) -> list[tuple[str, str, str]]:
    """UUID, model and price of every GPU, once all was imported, in one piece or two."""
    clear()
    (folder / "setup.yaml").write_text(SETUP)
    run("configure", folder / "setup.yaml")
    pieces = [text.text()]
    if cut:
        pieces = [text.between(HOUR_ZERO, cut), text.between(cut, HOUR_ZERO + 3600)]
    for n, piece in enumerate(pieces):
        run("import_metrics", "--cluster=north", text.write(folder / f"{n}.om", piece))
    assert "FAIL" not in run("verify")
    models = dict(Gpu.objects.values_list("uuid", "model"))
    rows = report("ledger", by="gpu")
    return [(row["gpu"], models[row["gpu"]], row["wall_charge"]) for row in rows]


NEVER = HOUR_ZERO + 9999
TYPE = {"label_node_kubernetes_io_instance_type": "dl2q.24xlarge"}


@pytest.mark.parametrize("cut", [None, HALF])
@pytest.mark.parametrize(
    ("labels", "labelled_from", "named_from", "sampled", "not_sampled"),
    [
        ({}, NEVER, NEVER, ("habana.ai/gaudi", "1.00"), ("habana.ai/gaudi", "1.00")),
        (TYPE, HALF, NEVER, ("dl2q.24xlarge", "2.00"), ("dl2q.24xlarge", "2.00")),
        ({}, NEVER, HALF, ("Gaudi-3", "3.00"), ("habana.ai/gaudi", "1.00")),
        (TYPE, HOUR_ZERO, HALF, ("Gaudi-3", "3.00"), ("dl2q.24xlarge", "2.00")),
    ],
)
def test_samples_name_a_gpu_else_its_node_does(  # what a case is
    labels: dict[str, str],
    labelled_from: int,
    named_from: int,
    sampled: tuple[str, str],
    not_sampled: tuple[str, str],
    cut: int | None,
    tmp_path: Path,
) -> None:
    text = cluster(labels, labelled_from, named_from)
    assert read(tmp_path, text, cut) == [
        ("HL-1", sampled[0], f"{sampled[1]}0000"),
        ("n1/1", not_sampled[0], f"{not_sampled[1]}0000"),
    ]
    assert not [row for row in report("issues") if row["code"] == "unpriced_gpu"]
