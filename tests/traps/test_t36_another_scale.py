"""T36: ratios under a name of percentages, and percentages under a name of ratios."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import SETUP
from tests.integration.metering.support import report, run
from tests.traps.scene import ENGINE, HOUR_MS, START, UTIL, Pod, Scene, usage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
AMD = "gpu_gfx_activity"
SM = "DCGM_FI_PROF_SM_ACTIVE"
Value = Callable[[float], float]


def turns(*values: float) -> Value:
    """The values in turn, one a scrape of 30 s."""
    return lambda at: values[int(at - START) // 30 % len(values)]


def scene(
    metric: str, value: Value, step: int = 30, labels: dict[str, object] | None = None
) -> Scene:
    """`train-0` holds the GPU of a node for an hour."""
    told = Scene(step=step)
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", value, labels, metric=metric)
    return told


def shown() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The usage of `train-0`, and the issues of scales."""
    found = [row for row in report("issues") if row["code"] == "utilization_scale"]
    return usage("pod")["train-0"], found


@pytest.mark.parametrize("metric", [UTIL, AMD])
def test_t36_fractions_of_whole_percent_are_ratios(metric: str, tmp_path: Path) -> None:
    """A collector keeps the name and divides by 100: 0.5 and 1 are half and all of it."""
    scene(metric, turns(0.5, 0.75, 1, 0)).read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == HOUR_MS * 9 // 16  # not 1 % of it
    assert (issue["subject"], issue["at_stake_ms"]) == (metric, HOUR_MS)
    assert issue["at_stake_charge"] == "2.100000"
    assert f"{{{metric}: ratio}}" in issue["advice"]


def test_t36_a_declared_percentage_may_be_small(tmp_path: Path) -> None:
    source = f"{{kind: openmetrics, scales: {{{UTIL}: percent}}}}"
    scales = f"clusters: [{{name: north, sources: [{source}]}}]\n"
    scene(UTIL, turns(0.5, 0.75, 1, 0)).read(tmp_path, SETUP + scales)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS * 9 // 1600
    assert found == []


def test_t36_few_fractions_are_no_data_and_never_one_percent(tmp_path: Path) -> None:
    """Two samples do not show a scale for certain, and 1 after them is not 1 %."""
    scene(UTIL, lambda at: 0.5 if at < START + 60 else 1).read(tmp_path)

    row, [issue] = shown()
    assert (row["busy_ms"], row["unknown_ms"]) == (0, HOUR_MS)
    assert (issue["severity"], issue["at_stake_charge"]) == ("error", "2.100000")


def test_t36_few_fractions_in_a_window_and_many_in_all(tmp_path: Path) -> None:
    """A scraper with two samples a window, all of them ratios: the third one decides."""
    scene(UTIL, lambda _: 0.5, step=150).read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == (HOUR_MS - row["unknown_ms"]) // 2
    assert (
        row["unknown_ms"] == 240_000
    )  # N4: the first windows have no step of their own
    assert issue["severity"] == "warning"


def test_t36_two_collectors_of_two_scales(tmp_path: Path) -> None:
    """Who writes whole percent is believed; who writes fractions beside it is not."""
    told = scene(UTIL, turns(0.5, 0.75))
    told.node("n2")
    told.pod(Pod("train-1", node="n2"))
    told.gpu("GPU-2", 50, node="n2", metric=UTIL)
    told.read(tmp_path)

    row, [issue] = shown()
    assert row["unknown_ms"] == HOUR_MS
    assert usage("pod")["train-1"]["busy_ms"] == HOUR_MS // 2
    assert issue["at_stake_ms"] == HOUR_MS  # of the one GPU


def test_t36_averages_of_percent_are_percent(tmp_path: Path) -> None:
    """Fractions above 1 show that somebody averaged whole numbers."""
    scene(UTIL, turns(0.5, 12.5)).read(tmp_path)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS * 13 // 200
    assert found == []


def test_t36_percentages_of_engine_activity_are_no_data(tmp_path: Path) -> None:
    """0.5 beside 50 would be half busy."""
    scene(ENGINE, turns(50, 0.5)).read(tmp_path)

    row, [issue] = shown()
    assert row["unknown_ms"] == HOUR_MS
    assert f"{{{ENGINE}: percent}}" in issue["advice"]


def test_t36_percentages_of_activity_are_no_activity(tmp_path: Path) -> None:
    told = scene(ENGINE, lambda _: 0.5)
    told.gpu("GPU-1", turns(50, 0.5), metric=SM)
    told.read(tmp_path)

    row, [issue] = shown()
    assert (row["busy_ms"], row["sm_active"]) == (HOUR_MS // 2, None)
    assert issue["subject"] == SM


def test_t36_an_idle_gpu_of_one_percent_is_nothing_odd(tmp_path: Path) -> None:
    """Its exporter shows 0 and 1, and another one of the cluster what only percentages are."""
    told = scene(UTIL, turns(0, 1))
    told.node("n2")
    told.gpu("GPU-2", lambda at: 50 if at < START + 60 else 0, node="n2", metric=UTIL)
    told.read(tmp_path)

    row, found = shown()
    assert row["busy_ms"] == HOUR_MS // 200
    assert found == []


@pytest.mark.parametrize("values", [(1,), (0, 1)])
def test_t36_only_0_and_1_in_a_whole_cluster_are_no_data(
    values: tuple[int, ...], tmp_path: Path
) -> None:
    """Full load as ratios, or 1 %: nobody knows, so it is neither idle nor busy."""
    scene(UTIL, turns(*values)).read(tmp_path)

    row, [issue] = shown()
    assert (row["busy_ms"], row["idle_ms"]) == (0, 0)
    assert row["unknown_ms"] == issue["at_stake_ms"] == HOUR_MS
    assert "only 0 and 1" in issue["message"]


def test_t36_what_another_file_shows_decides_for_only_0_and_1(tmp_path: Path) -> None:
    """No data until another node of the cluster shows whole percent; then 1 is 1 %."""
    scene(UTIL, turns(0, 1)).read(tmp_path)
    assert shown()[0]["unknown_ms"] == HOUR_MS

    other = Scene()
    other.node("n2")
    other.gpu("GPU-2", 50, node="n2", metric=UTIL)
    later = tmp_path / "later"
    later.mkdir()
    other.read(later)
    row, found = shown()
    assert row["busy_ms"] == HOUR_MS // 200
    assert (row["unknown_ms"], found) == (0, [])


def full_load(at: float) -> float:
    """0.97, and exactly 1 from minute 10 to 50."""
    return 1 if 600 <= at - START < 3000 else 0.97


def test_t36_a_window_of_full_load_is_read_like_the_others(tmp_path: Path) -> None:
    """Ratios of exactly 1 for 40 minutes: the scraper showed fractions before and after."""
    told = Scene()
    told.node(units=3)
    for n in range(3):
        told.pod(Pod(f"train-{n}"))
        told.gpu(f"GPU-{n}", full_load, metric=UTIL)
    told.read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == HOUR_MS * 99 // 100  # 97 % of 20 minutes, and 40 minutes
    assert row["unknown_ms"] == 0
    assert issue["at_stake_ms"] == 3 * HOUR_MS
    assert "exactly 0 or 1" in issue["message"]


def test_t36_a_window_of_full_load_beside_whole_percent_is_doubtful(
    tmp_path: Path,
) -> None:
    """Like the windows with fractions: the node beside shows 50, and 1 of its own is 1 %."""
    told = scene(UTIL, full_load)
    told.node("n2")
    told.pod(Pod("train-1", node="n2"))
    told.gpu("GPU-2", 50, node="n2", metric=UTIL)
    told.node("n3")
    told.pod(Pod("train-2", node="n3"))
    told.gpu("GPU-3", lambda at: 50 if at < START + 300 else 1, node="n3", metric=UTIL)
    told.read(tmp_path)

    row, [issue] = shown()
    assert row["unknown_ms"] == HOUR_MS
    assert usage("pod")["train-1"]["busy_ms"] == HOUR_MS // 2
    assert usage("pod")["train-2"]["busy_ms"] == 150_000 + 33_000  # 1 % of 55 minutes
    assert issue["at_stake_ms"] == HOUR_MS


def test_t36_whole_percent_is_believed_in_a_window_of_ratios(tmp_path: Path) -> None:
    """A node that showed 50 has 1 %, beside fractions of another one."""
    told = scene(UTIL, turns(0.5, 0.75))
    told.node("n2")
    told.pod(Pod("train-1", node="n2"))
    told.gpu("GPU-2", lambda at: 50 if at < START + 300 else 1, node="n2", metric=UTIL)
    told.read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == (HOUR_MS - 300_000) * 5 // 8
    assert row["unknown_ms"] == 300_000  # the window in which 50 is beside it
    assert usage("pod")["train-1"]["busy_ms"] == 150_000 + 33_000
    assert issue["severity"] == "error"


def test_t36_a_scraper_of_both_scales_is_doubtful_at_zero_and_one(
    tmp_path: Path,
) -> None:
    """Its collector was changed: fractions, whole percent, then a window with neither."""

    def value(at: float) -> float:
        minute = (at - START) // 60
        return 0.5 if minute < 10 else 50 if minute < 20 else 1

    scene(UTIL, value).read(tmp_path)

    row, [issue] = shown()
    assert row["busy_ms"] == 300_000 + 300_000
    assert row["unknown_ms"] == 40 * 60_000
    assert issue["at_stake_ms"] == 50 * 60_000
    assert "other times" in issue["message"]


def test_t36_averages_of_a_quiet_hour_are_percent(tmp_path: Path) -> None:
    """12.5 at another time shows that 0.5 and 1 are averages of percentages."""

    def value(at: float) -> float:
        return 12.5 if at < START + 300 else [0.5, 1][int(at - START) // 30 % 2]

    scene(UTIL, value).read(tmp_path)

    row, found = shown()
    assert row["busy_ms"] == 37_500 + 3_300_000 * 3 // 400
    assert found == []


def test_t36_a_declaration_that_is_removed_leaves_what_was_shown(
    tmp_path: Path,
) -> None:
    """While it was declared a ratio, nothing was doubtful; the same samples say it later."""
    source = f"{{kind: openmetrics, scales: {{{UTIL}: ratio}}}}"
    declared = f"clusters: [{{name: north, sources: [{source}]}}]\n"
    scene(UTIL, full_load).read(tmp_path, SETUP + declared)
    assert shown()[0]["busy_ms"] == HOUR_MS * 99 // 100

    removed = tmp_path / "removed.yaml"
    removed.write_text(SETUP + declared.replace(f"{UTIL}: ratio", ""))
    run("configure", removed)
    day = "2026-10-01"
    run("ingest", "--cluster=north", f"--from={day}T10:00Z", f"--to={day}T11:00Z")
    row, [issue] = shown()
    assert row["busy_ms"] == HOUR_MS * 99 // 100
    assert issue["severity"] == "warning"
