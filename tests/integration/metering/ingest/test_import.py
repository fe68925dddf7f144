"""Imports: the numbers, repeats, pieces in any order, and files that are wrong.

Not here: kills and workers beside each other (test_faults), live sources (test_live).
"""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import BufferBlock, IngestWindow
from accounting.metering.sources.openmetrics import FileError, spool
from tests.builders import HOUR_ZERO, SETUP, Text, times, two_hours
from tests.integration.metering.support import clear, facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """The two hours of `builders`, set up and imported."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    path = two_hours().write(tmp_path / "all.om")
    run("configure", tmp_path / "setup.yaml")
    run("import_metrics", "--cluster=north", path)
    return path


def test_held_time_is_exact(imported: Path) -> None:
    rows = {row["team"]: row for row in report("usage", by="team")}
    vision, robotics = rows["vision"], rows["robotics"]
    # two GPUs from 10:10:05 to 11:20:10
    assert vision["allocated_ms"] == 2 * 4_205_000
    assert vision["unknown_ms"] == 0
    assert vision["efficiency"] == pytest.approx(0.625, abs=1e-9)
    # one GPU from 10:40 until one step after the last sample at 11:40
    assert robotics["allocated_ms"] == 3_600_000 + 30_000
    assert robotics["unknown_ms"] > 500_000  # ten silent minutes, less one step


def test_every_gpu_adds_up_to_its_time(imported: Path) -> None:
    for row in report("ledger", by="gpu"):
        end = HOUR_ZERO + 7200
        first = HOUR_ZERO  # placeholders stand in until a UUID is seen
        assert row["wall_ms"] <= (end - first + 60) * 1000
    total = report("ledger", by="cluster")[0]
    assert total["wall_ms"] == sum(row["wall_ms"] for row in report("ledger", by="gpu"))
    assert "FAIL" not in run("verify")


def test_silence_is_unknown_and_never_idle(imported: Path) -> None:
    rows = report("usage", by="hour,team")
    quiet = next(
        r for r in rows if r["team"] == "robotics" and r["hour"].endswith("T10:00:00Z")
    )
    assert quiet["unknown_ms"] > 0
    assert quiet["coverage"] < 1
    assert quiet["efficiency"] == pytest.approx(0.9, abs=1e-6)


def test_money_of_all_lines_is_the_price_of_the_fleet(imported: Path) -> None:
    total = report("ledger", by="cluster")[0]
    states = ["busy", "idle", "unknown", "free", "stranded", "stray", "dark"]
    lines = sum(round(float(total[f"{state}_charge"]) * 10**6) for state in states)
    assert lines == round(float(total["wall_charge"]) * 10**6)
    assert lines == round(total["wall_ms"] * 2.10 / 3_600_000 * 10**6)


def test_repeated_import_writes_nothing(imported: Path) -> None:
    before = facts()
    fences = list(IngestWindow.objects.order_by("pk").values_list("content_hash"))
    said = run("import_metrics", "--cluster=north", imported)
    assert "(0 new)" in said
    assert "0 rows written" in said
    assert facts() == before
    assert (
        list(IngestWindow.objects.order_by("pk").values_list("content_hash")) == fences
    )


Pieces = Callable[[Any], list[str]]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            lambda t: [
                t.between(a, a + 2400) for a in range(HOUR_ZERO, HOUR_ZERO + 7200, 2400)
            ],
            id="in order",
        ),
        pytest.param(
            lambda t: [
                t.between(a, a + 1830)
                for a in reversed(range(HOUR_ZERO, HOUR_ZERO + 7200, 1830))
            ],
            id="newest first",
        ),
        pytest.param(
            lambda t: [t.text("DCGM"), t.text("kube")], id="exporter, then kube-state"
        ),
        pytest.param(
            lambda t: [t.text("kube"), t.text("DCGM")], id="kube-state, then exporter"
        ),
        pytest.param(
            lambda t: [
                t.between(HOUR_ZERO + 3000, HOUR_ZERO + 8000),
                t.between(HOUR_ZERO, HOUR_ZERO + 4000),
            ],
            id="overlapping",
        ),
    ],
)
def test_pieces_in_any_order_give_the_same_ledger(
    pieces: Pieces, tmp_path: Path
) -> None:
    text = two_hours()
    run("import_metrics", "--cluster=north", text.write(tmp_path / "all.om"))
    whole, holds = facts(), report("holds")
    clear()
    for i, part in enumerate(pieces(text)):
        run("import_metrics", "--cluster=north", text.write(tmp_path / f"{i}.om", part))
    assert report("holds") == holds
    assert facts() == whole


def test_a_file_after_a_gap_completes_the_window_in_which_data_ended(
    tmp_path: Path,
) -> None:
    text = Text()
    early = times(HOUR_ZERO, HOUR_ZERO + 120)  # until 10:02:00
    late = times(HOUR_ZERO + 5400, HOUR_ZERO + 5700)
    text.node("n1", 1, [*early, *late])
    text.utilization("GPU-a", "n1", dict.fromkeys([*early, *late], 0.5))
    first = text.write(tmp_path / "1.om", text.between(HOUR_ZERO, HOUR_ZERO + 120))
    run("import_metrics", "--cluster=north", first)
    [row] = report("ledger", by="gpu")
    assert row["wall_ms"] == 120_000
    rest = text.between(HOUR_ZERO + 5400, HOUR_ZERO + 5700)
    run("import_metrics", "--cluster=north", text.write(tmp_path / "2.om", rest))
    [row] = report("ledger", by="gpu")
    assert row["wall_ms"] == 5_700_000  # dark in between, and there all the time
    assert "FAIL" not in run("verify")


def test_compressed_file_is_the_same(imported: Path, tmp_path: Path) -> None:
    before = facts()
    packed = tmp_path / "all.om.gz"
    packed.write_bytes(gzip.compress(imported.read_bytes()))
    clear()
    run("import_metrics", "--cluster=north", packed)
    assert facts() == before


WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "binary": (b"\x00\x01\x02 \xff" * 50, "binary"),
    "not utf-8": (b"a 1 1790848800000\nb\xff 1 1790848800000\n", "line 2"),
    "truncated": (b'# TYPE a gauge\nup{a="b"} 1 1790848800\n', "EOF"),
    "no name": (b"9up 1 1790848800\n# EOF\n", "line 1"),
    "no value": (b"up\n# EOF\n", "line 1"),
    "no time": (b'up{a="b"} 1\n# EOF\n', "time"),
    "broken labels": (b'up{a="b} 1 1790848800\n# EOF\n', "labels"),
    "before 1970": (b"up 1 -5\n# EOF\n", "1970"),
    "future": (b"up 1 4102444800\n# EOF\n", "future"),
    "text after the end": (b"# EOF\nup 1 1790848800\n# EOF\n", "after # EOF"),
    "a web page": (b"<!doctype html><title>x</title>\n# EOF\n", "line 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_file_is_named_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    content, expected = WRONG[name]
    good = two_hours().write(tmp_path / "good.om")
    bad = tmp_path / "bad.om"
    bad.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        run("import_metrics", "--cluster=north", good, bad)
    assert ended.value.code == 2
    assert not Cluster.objects.exists()
    assert not BufferBlock.objects.exists()
    assert facts() == []
    folder = tmp_path / "spool"
    folder.mkdir()
    with pytest.raises(FileError, match=expected):
        spool([bad], folder, latest_ms=HOUR_ZERO * 1000 + 10**9)


def test_file_without_a_metric_of_ours_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.om"
    other.write_text("node_load1 1 1790848800\n# EOF\n")
    with pytest.raises(SystemExit) as ended:
        run("import_metrics", "--cluster=north", other)
    assert ended.value.code == 2
    assert not Cluster.objects.exists()


def test_cut_gzip_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(two_hours().text().encode())
    bad = tmp_path / "bad.om.gz"
    bad.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SystemExit):
        run("import_metrics", "--cluster=north", bad)
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-0.5", "9223372036854775794", "7"])
def test_values_that_are_no_data_are_unknown(value: str, tmp_path: Path) -> None:
    text = two_hours()
    name = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
    text.families[name] = [
        line.replace(" 0.9 ", f" {value} ") for line in text.families[name]
    ]
    run("import_metrics", "--cluster=north", text.write(tmp_path / "x.om"))
    row = next(
        r for r in report("usage", by="namespace") if r["namespace"] == "robotics"
    )
    assert row["busy_ms"] == 0
    # the first sample without the pod's name, a good zero, lies 19 s before its end
    assert row["idle_ms"] == 19_000
    assert row["unknown_ms"] == row["allocated_ms"] - 19_000


def test_a_file_beside_a_silent_source_is_kept_and_waits(tmp_path: Path) -> None:
    settings, data = tmp_path / "setup.yaml", two_hours().write(tmp_path / "all.om")
    silent = '{kind: prometheus, timeout_s: 1, url: "http://127.0.0.1:1"}'
    settings.write_text(f"clusters: [{{name: north, sources: [{silent}]}}]\n")
    run("configure", settings)
    told = io.StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("import_metrics", "--cluster=north", str(data), stderr=told)
    assert "windows wait for another source" in told.getvalue()
    assert BufferBlock.objects.exists()
    assert facts() == []
    assert [row["code"] for row in report("issues")] == ["source_failed"]
