"""One GPU is in one cluster: a mistyped name is refused (rules.md N39).

Not here: the data issue of GPUs that two clusters share (test_shared_gpus).
"""

import io
from pathlib import Path

import pytest
from django.core.management import call_command

from accounting.metering.models.cluster import Cluster, Source
from accounting.metering.models.ledger import BufferBlock, IngestWindow
from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600


def gpus(*uuids: str, start: int = HOUR_ZERO, length: int = HOUR) -> Text:
    """A node with these GPUs, sampled for a while."""
    text = Text()
    at = times(start, start + length)
    text.node("n1", len(uuids), at)
    for uuid in uuids:
        text.utilization(uuid, "n1", dict.fromkeys(at, 0.5))
    return text


def imported(name: str, text: Text, folder: Path, *more: str) -> str:
    path = text.write(folder / f"{name}.om")
    return run("import_metrics", f"--cluster={name}", *more, path)


def refused(*words: str | Path) -> str:
    """What a command that ends with 2 says."""
    said = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*map(str, words), stdout=io.StringIO(), stderr=said)
    assert ended.value.code == 2
    return said.getvalue()


def test_a_mistyped_cluster_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a", "GPU-b"), tmp_path)
    before = facts()
    path = gpus("GPU-a", "GPU-b").write(tmp_path / "again.om")
    said = refused("import_metrics", "--cluster=nroth", path)
    assert "'nroth'" in said
    assert "the cluster 'north' has the same GPUs" in said
    assert "GPU-a and 1 more" in said
    assert "--new" in said
    assert list(Cluster.objects.values_list("name", flat=True)) == ["north"]
    assert Source.objects.count() == 1
    assert {b.source.cluster.name for b in BufferBlock.objects.all()} == {"north"}
    assert {w.cluster.name for w in IngestWindow.objects.all()} == {"north"}
    assert facts() == before


def test_new_makes_the_cluster_and_is_remembered(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    imported("nroth", gpus("GPU-a"), tmp_path, "--new")
    walls = {row["cluster"]: row["wall_ms"] for row in report("ledger", by="cluster")}
    assert walls == {"north": HOUR * 1000, "nroth": HOUR * 1000}
    later = gpus("GPU-a", start=HOUR_ZERO + HOUR)
    imported("north", later, tmp_path)
    imported("nroth", later, tmp_path)


def test_other_gpus_make_a_cluster_as_ever(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    imported("south", gpus("GPU-b"), tmp_path)
    assert Cluster.objects.count() == 2


def test_a_gpu_that_was_sold_to_another_cluster_is_no_reason(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    imported("south", gpus("GPU-a", start=HOUR_ZERO + HOUR), tmp_path)
    assert Cluster.objects.count() == 2


def test_a_configured_cluster_is_not_refused(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    (tmp_path / "setup.yaml").write_text(
        "clusters: [{name: nroth, sources: [{kind: openmetrics}]}]"
    )
    run("configure", tmp_path / "setup.yaml")
    imported("nroth", gpus("GPU-a"), tmp_path)
    assert len(report("ledger", by="cluster")) == 2


def test_a_cluster_that_an_import_made_may_be_imported_again(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    imported("nroth", gpus("GPU-a"), tmp_path, "--new")
    imported("north", gpus("GPU-a"), tmp_path)
    more = gpus("GPU-c")
    imported("south", more, tmp_path)
    assert Cluster.objects.count() == 3


def test_a_later_file_of_a_made_cluster_is_refused_as_well(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a", length=2 * HOUR), tmp_path)
    imported("south", gpus("GPU-b"), tmp_path)
    path = gpus("GPU-a", start=HOUR_ZERO + HOUR).write(tmp_path / "wrong.om")
    said = refused("import_metrics", "--cluster=south", path)
    assert "'north'" in said
    [row] = [r for r in report("ledger", by="cluster") if r["cluster"] == "south"]
    assert row["wall_ms"] == HOUR * 1000


def test_ingest_refuses_a_cluster_that_nothing_configured(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    imported("south", gpus("GPU-a", start=HOUR_ZERO + HOUR), tmp_path)
    imported("north", gpus("GPU-a", start=HOUR_ZERO + HOUR), tmp_path, "--new")
    said = refused("ingest", "--cluster=south")
    assert "'north'" in said
    run("ingest", "--cluster=north")
    run("ingest", "--cluster=south", "--new")
    run("ingest", "--cluster=south")


def test_ingest_names_the_clusters_that_are_known(tmp_path: Path) -> None:
    imported("north", gpus("GPU-a"), tmp_path)
    said = refused("ingest", "--cluster=nroth")
    assert "'nroth'" in said
    assert "known: north" in said
    assert list(Cluster.objects.values_list("name", flat=True)) == ["north"]


def test_a_gpu_without_a_number_of_its_own_is_no_reason(tmp_path: Path) -> None:
    text = Text()
    at = times(HOUR_ZERO, HOUR_ZERO + HOUR)
    for when in at:
        labels = {"gpu_id": "0", "hostname": "n1", "card_series": "MI300X"}
        text.add("gpu_gfx_activity", labels, 50, when)
    imported("north", text, tmp_path)
    imported("south", text, tmp_path)
    assert Cluster.objects.count() == 2
