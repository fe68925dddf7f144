"""History files are sound OpenMetrics and say what the live text would have said."""

import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from accounting.metering.sources.openmetrics import spool
from portal.demo.metrics.exposition import node_text
from portal.demo.metrics.history import STEP_S, FileInterval, stretches, write
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.story import DAY_S, HOUR_S, WEEK_S
from tests.unit.portal.demo.conftest import NOW_S

pytestmark = pytest.mark.timeout(30)


def lines_of(engine: Engine, stretch: FileInterval, folder: Path) -> list[str]:
    path = folder / "history.om.gz"
    write(engine, stretch, path)
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_stretches_cover_the_time_once_and_meet_both_ends() -> None:
    start, last = NOW_S - 3 * DAY_S - 77, NOW_S
    found = stretches(start, last)
    times = sorted(at for stretch in found for at in stretch.times_s)
    assert times[0] == start
    assert times[-1] == last
    gaps = {b - a for a, b in pairwise(times)}
    assert max(gaps) == STEP_S
    assert min(gaps) > 0
    assert [s.last_s for s in found] == sorted((s.last_s for s in found), reverse=True)


@pytest.mark.parametrize("gap", [1, 30, 299, 300, 301, 86_399, 86_400, 86_401])
def test_short_gaps_are_covered_too(gap: int) -> None:
    times = sorted(
        at for stretch in stretches(NOW_S - gap, NOW_S) for at in stretch.times_s
    )
    assert times[0] == NOW_S - gap
    assert times[-1] == NOW_S
    assert len(set(times)) == len(times)


def test_nothing_is_missing_when_there_is_no_gap() -> None:
    assert stretches(NOW_S, NOW_S) == []


def test_a_strict_parser_reads_a_file(small: Engine, tmp_path: Path) -> None:
    text = (
        "\n".join(lines_of(small, FileInterval(NOW_S - HOUR_S, NOW_S), tmp_path)) + "\n"
    )
    read = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    families = {family.name for family in read}
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in families
    assert "kube_pod_info" in families


def test_our_own_door_reads_a_file(small: Engine, tmp_path: Path) -> None:
    path = tmp_path / "history.om.gz"
    samples = write(small, FileInterval(NOW_S - HOUR_S, NOW_S), path)
    folder = tmp_path / "spool"
    folder.mkdir()
    found = spool([path], folder, latest_ms=NOW_S * 1000)
    assert found.samples == samples
    assert found.unknown.nodes == {}
    assert found.first_ms == (NOW_S - HOUR_S) * 1000
    assert found.last_ms == NOW_S * 1000


def test_families_stand_together_and_series_are_in_order(
    small: Engine, tmp_path: Path
) -> None:
    lines = lines_of(small, FileInterval(NOW_S - 6 * HOUR_S, NOW_S), tmp_path)
    assert lines[-1] == "# EOF"
    seen: set[str] = set()
    family, series, last = "", "", 0
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in seen
            seen.add(family)
            continue
        head, _, rest = line.rpartition("} ")
        assert head.startswith(f"{family}{{")
        at = int(rest.split()[1])
        assert head != series or at > last
        series, last = head, at


def test_the_last_sample_is_what_the_live_text_says(
    small: Engine, tmp_path: Path
) -> None:
    lines = lines_of(small, FileInterval(NOW_S - HOUR_S, NOW_S), tmp_path)
    history = set()
    for line in lines:
        head, _, rest = line.rpartition("} ")
        is_exporter = line.startswith(("DCGM", "gpu_"))
        if is_exporter and rest.endswith(f" {NOW_S}"):
            history.add((head.partition(",job=")[0], float(rest.split()[0])))
    live = set()
    for node in small.nodes_at(NOW_S):
        if not node.is_read(NOW_S):
            continue
        for line in node_text(small, node, NOW_S).splitlines():
            if not line.startswith("#"):
                head, _, value = line.rpartition("} ")
                live.add((head, float(value)))
    assert history == live


def test_a_cordon_is_shown_from_its_start_to_its_end(
    engine: Engine, tmp_path: Path
) -> None:
    node = next(
        one
        for one in engine.nodes.values()
        for span in one.cordons
        if span.end_s < NOW_S and one.is_there(span.end_s)
    )
    span = next(one for one in node.cordons if one.end_s < NOW_S)
    stretch = FileInterval(span.start_s - HOUR_S, span.end_s + HOUR_S)
    values: dict[float, list[int]] = {0.0: [], 1.0: []}
    for line in lines_of(engine, stretch, tmp_path):
        if line.startswith("kube_node_spec_unschedulable") and f'"{node.name}"' in line:
            value, at = line.rpartition("} ")[2].split()
            values[float(value)].append(int(at))
    assert all(span.contains(at) for at in values[1.0])
    assert not any(span.contains(at) for at in values[0.0])
    assert min(values[0.0]) < span.start_s <= min(values[1.0])
    assert max(values[0.0]) >= span.end_s > max(values[1.0])


def test_an_exporter_that_was_down_has_no_samples(
    engine: Engine, tmp_path: Path
) -> None:
    node = next(n for n in engine.nodes.values() if n.outages)
    span = node.outages[0]
    lines = lines_of(engine, FileInterval(span.start_s, span.end_s - 1), tmp_path)
    about = [line for line in lines if f'"{node.name}"' in line]
    assert not any(line.startswith("DCGM") for line in about)
    assert any(line.startswith("kube_node_status_capacity") for line in about)


def test_kube_state_that_was_down_has_no_samples(
    engine: Engine, tmp_path: Path
) -> None:
    span = engine.kube_outages[0]
    lines = lines_of(engine, FileInterval(span.start_s, span.end_s - 1), tmp_path)
    assert not any(line.startswith("kube_") for line in lines)
    assert any(line.startswith("DCGM") for line in lines)


def test_older_weeks_have_what_the_ledger_needs_and_no_more(
    small: Engine, tmp_path: Path
) -> None:
    """Memory and power are shown on the page of a GPU only."""

    def names(last_s: int) -> set[str]:
        lines = lines_of(small, FileInterval(last_s - HOUR_S, last_s), tmp_path)
        return {line.split()[2] for line in lines if line.startswith("# TYPE ")}

    new, old = names(NOW_S), names(small.story.at(1) - WEEK_S)
    missing = {name for name in new - old if not name.startswith("kube_")}
    assert missing
    assert all(re.search("FB_USED|POWER|vram|power", name) for name in missing)
    assert not any(re.search("FB_USED|POWER|vram|power", name) for name in old)
    assert any("ENERGY" in name for name in old)


def test_a_file_without_gz_in_its_name_is_plain_text(
    small: Engine, tmp_path: Path
) -> None:
    stretch = FileInterval(NOW_S - HOUR_S, NOW_S)
    write(small, stretch, tmp_path / "history.om")
    text = (tmp_path / "history.om").read_text()
    assert text.splitlines() == lines_of(small, stretch, tmp_path)
