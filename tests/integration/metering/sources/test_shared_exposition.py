"""Real exposition text and metric lists of upstream projects, each read by a test.

The data are not part of the project: a test whose data are absent is skipped by name.
"""

import csv
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from accounting.metering.sources.catalogue import (
    EXPORTER_METRICS,
    QUEUE_METRICS,
    is_kept,
    is_unknown_gpu_metric,
)
from accounting.metering.sources.exposition import Parser, RawSeries, limited_lines
from tests import shared_data
from tests.builders import HOUR_ZERO, times
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)

FOLDER = shared_data.DATA / "exposition"
SECONDS = 600


def text_of(name: str) -> str:
    """A file's text, or the test is skipped."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(shared_data.missing(f"exposition/{name}"))
    return path.read_text()


def imported(name: str, folder: Path) -> str:
    """Import a file's samples as if they had been scraped for ten minutes."""
    lines = [line for line in text_of(name).splitlines() if line[:1] not in ("#", "")]
    path = folder / name
    path.write_text(
        "".join(
            f"{line} {int(at) * 1000}\n"
            for at in times(HOUR_ZERO, HOUR_ZERO + SECONDS)
            for line in lines
        )
    )
    said = run("import_metrics", "--cluster=north", path)
    assert "FAIL" not in run("verify")
    return said


def walls() -> dict[str, int]:
    """Every GPU's time in the ledger, in milliseconds."""
    return {row["gpu"]: row["wall_ms"] for row in report("ledger", by="gpu")}


def t4_of_one_node(folder: Path) -> None:
    """One GPU without Kubernetes: all its time is there, and nobody is known to hold it."""
    imported("dcgm_t4_full_default.prom", folder)
    assert walls() == {"GPU-20c56d28-0da5-6d26-a36a-e7af1ce2586e": SECONDS * 1000}
    [row] = report("ledger", by="cluster")
    assert row["dark_ms"] == row["wall_ms"]


def four_t4(folder: Path) -> None:
    """Four GPUs of one node, three fields each."""
    imported("dcgm_t4x4_partial.prom", folder)
    assert len(walls()) == 4
    assert set(walls().values()) == {SECONDS * 1000}
    assert {row["node"] for row in report("ledger", by="node")} == {"ip-172-31-16-106"}


def partitioned_a100(folder: Path) -> None:
    """The lines of the whole GPU and of an instance are one GPU."""
    imported("dcgm_a100_mig.prom", folder)
    assert walls() == {"GPU-34319582-d595-d1c7-d1d2-179bcfa61660": SECONDS * 1000}


def empty_labels_and_a_blank(folder: Path) -> None:
    """Empty workload labels name nobody."""
    imported("dcgm_readme_k8s_labels.prom", folder)
    assert walls() == {"GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52": SECONDS * 1000}
    assert report("holds") == []


def pods_of_kube_state(folder: Path) -> None:
    """The pod with a GPU holds one; the other holds none."""
    imported("kube_state_metrics_pod.prom", folder)
    [hold] = report("holds")
    assert (hold["namespace"], hold["pod"]) == ("default", "pod0")
    assert (hold["resource"], hold["units"]) == ("nvidia.com/gpu", 1)


def nodes_of_kube_state(folder: Path) -> None:
    """Capacity without an exporter: places that no GPU has filled."""
    imported("kube_state_metrics_node_lines.prom", folder)
    assert walls() == {f"127.0.0.1/{n}": SECONDS * 1000 for n in range(4)}


def quotas_of_kube_state(folder: Path) -> None:
    """Nothing of ours: refused as a file, without a cluster."""
    with pytest.raises(SystemExit) as ended:
        imported("kube_state_metrics_resourcequota_lines.prom", folder)
    assert ended.value.code == 2


def fields_of(name: str) -> set[str]:
    """The metric names of a list of dcgm-exporter's fields."""
    lines = [line for line in text_of(name).splitlines() if not line.startswith("#")]
    return {row[0].strip() for row in csv.reader(lines) if len(row) >= 2}


def default_fields(folder: Path) -> None:
    """Every field of the default list proves presence; those that we count are known."""
    del folder
    names = fields_of("dcgm_default-counters.csv")
    assert len(names) > 15
    assert all(is_kept(name) for name in names)
    assert {
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_DEV_FB_USED",
    } <= names & set(EXPORTER_METRICS)


def profiling_fields(folder: Path) -> None:
    """The profiling fields, too."""
    del folder
    names = fields_of("dcgm_dcp-metrics-included.csv")
    assert all(is_kept(name) for name in names)
    assert {
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_PROF_DRAM_ACTIVE",
    } <= names & set(EXPORTER_METRICS)


def names_of_kueue(folder: Path) -> None:
    """Of a neighbour's metrics what queues are is kept, and none is taken for a GPU's."""
    del folder
    names = re.findall(
        r"^\| `(kueue_\w+)`", text_of("kueue_metrics_names.md"), re.MULTILINE
    )
    assert len(names) == 62
    kept = {name for name in names if is_kept(name)}
    assert kept == {name for name in QUEUE_METRICS if name.startswith("kueue_")}
    assert not any(is_unknown_gpu_metric(name) for name in names)


def list_of_files(folder: Path) -> None:
    """The list names every file with its number of samples."""
    del folder
    text = text_of("README.md")
    listed = re.findall(r"^\| ([^|]*?) \| ([\d, -]+|\d+ rows) \|", text, re.MULTILINE)
    counts: dict[str, str] = {}
    for names, numbers in listed:
        of_each = numbers.split(", ") if ", " in numbers else [numbers]
        counts |= dict(zip_longest(names.split(", "), of_each, fillvalue=of_each[-1]))
    assert set(counts) == set(READERS) - {"README.md"}
    for name, count in counts.items():
        if name.endswith(".prom"):
            assert len(list(samples_of(text_of(name)))) == int(count), name


READERS: dict[str, Callable[[Path], None]] = {
    "README.md": list_of_files,
    "dcgm_a100_mig.prom": partitioned_a100,
    "dcgm_dcp-metrics-included.csv": profiling_fields,
    "dcgm_default-counters.csv": default_fields,
    "dcgm_readme_k8s_labels.prom": empty_labels_and_a_blank,
    "dcgm_t4_full_default.prom": t4_of_one_node,
    "dcgm_t4x4_partial.prom": four_t4,
    "kube_state_metrics_node_lines.prom": nodes_of_kube_state,
    "kube_state_metrics_pod.prom": pods_of_kube_state,
    "kube_state_metrics_resourcequota_lines.prom": quotas_of_kube_state,
    "kueue_metrics_names.md": names_of_kueue,
}


@pytest.mark.parametrize("name", READERS)
def test_file_is_understood(name: str, tmp_path: Path) -> None:
    READERS[name](tmp_path)


def test_no_file_is_left_unread() -> None:
    text_of("README.md")
    assert {path.name for path in FOLDER.iterdir()} == set(READERS)


def samples_of(text: str) -> Iterator[tuple[RawSeries, float]]:
    """Every sample by our own parser."""
    parser = Parser(default_ms=HOUR_ZERO * 1000)
    lines = limited_lines([text.encode()])
    for series, _, value in parser.samples(lines, is_openmetrics=False):
        raw = parser.series[series]
        yield raw, value


def name_of(theirs: str, text: str) -> str:
    """The official parser gives counters the ending that OpenMetrics wants."""
    plain = theirs.removesuffix("_total")
    return theirs if f"{theirs}{{" in text else plain


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(".prom")])
def test_two_parsers_read_the_same(name: str) -> None:
    text = text_of(name)
    ours = [
        (raw.name, sorted(raw.labels), repr(value)) for raw, value in samples_of(text)
    ]
    theirs = [
        (
            name_of(sample.name, text),
            sorted(sample.labels.items()),
            repr(float(sample.value)),
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert sorted(ours) == sorted(theirs)
