"""kube-state-metrics in shards and replicas, from exposition text to the report.

Four nodes with one GPU each, and one pod on each for an hour. Objects are spread over shards,
pods and nodes differently; nothing is lost, whoever is read or not.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from accounting.core.interval import Interval
from accounting.metering.models.ledger import IngestWindow
from tests.integration.metering.support import run
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

pytestmark = pytest.mark.django_db(transaction=True)

NODES = 4


def told(
    shards: int, replicas: int, silent: Sequence[tuple[int, int, int]] = ()
) -> Scene:
    """An hour; `silent`: (shard, from, until) of seconds in which it is not read."""
    scene = Scene()
    every = scene.scrapes

    def read(shard: int) -> list[float]:
        gaps = [(a, b) for number, a, b in silent if number == shard]
        return [t for t in every if not any(a <= t - START < b for a, b in gaps)]

    for replica in range(replicas):
        for n in range(NODES):
            shard = n % shards
            scene.scrapes = [t + replica for t in read(shard)]
            scene.node(f"n{n}", instance=f"shard-{shard}-{replica}")
            shard = (n + 1) % shards
            scene.scrapes = [t + replica for t in read(shard)]
            scene.pod(Pod(f"p{n}", f"n{n}"), instance=f"shard-{shard}-{replica}")
    scene.scrapes = every
    for n in range(NODES):
        scene.gpu(f"GPU-{n}", 0.5, {"namespace": "vision", "pod": f"p{n}"}, f"n{n}")
    return scene


RANGE = {"from": "2026-10-01T10:00:00Z", "to": "2026-10-01T11:00:00Z"}


@pytest.mark.parametrize("shards", [2, 3, 4])
@pytest.mark.parametrize("replicas", [1, 2])
def test_no_held_time_is_lost(shards: int, replicas: int, tmp_path: Path) -> None:
    told(shards, replicas).read(tmp_path)
    found = {pod: row["allocated_ms"] for pod, row in usage("pod", **RANGE).items()}
    assert found == {f"p{n}": HOUR_MS for n in range(NODES)}
    assert {row["ended"] for row in holds().values()} == {None}


@pytest.mark.parametrize("shard", [0, 1, 2])
def test_a_shard_that_is_not_read_for_a_while_ends_nothing(
    shard: int, tmp_path: Path
) -> None:
    told(3, 1, [(shard, 600, 1500)]).read(tmp_path)
    rows = gpus(**RANGE)
    assert set(rows) == {f"GPU-{n}" for n in range(NODES)}
    for row in rows.values():
        assert states(row) == {"busy": HOUR_MS // 2, "idle": HOUR_MS // 2}


def test_a_shard_that_never_comes_back_ends_nothing_while_another_is_read(
    tmp_path: Path,
) -> None:
    """N11: without a later scrape that lacks them they are booked on, `ended` null."""
    told(2, 1, [(1, 1200, HOUR)]).read(tmp_path)
    found = {pod: row["allocated_ms"] for pod, row in usage("pod", **RANGE).items()}
    assert found == {f"p{n}": HOUR_MS for n in range(NODES)}
    assert {row["ended"] for row in holds().values()} == {None}


def test_a_pod_that_its_own_shard_lacks_is_gone(tmp_path: Path) -> None:
    scene = told(2, 1)
    scene.pod(Pod("short", "n0", gone=START + 1800), instance="shard-1-0")
    scene.node("n0", 2, instance="shard-0-0")
    scene.read(tmp_path)
    assert holds()["uid-short"]["ended"] == "2026-10-01T10:30:00Z"


def test_a_node_that_was_away_long_ago_stays_away(tmp_path: Path) -> None:
    """What is read now does not compute the hour of its absence again."""

    def part(first: int, last: int) -> Path:
        scene = Scene(8 * HOUR, step=60)
        scene.scrapes = [
            t for t in scene.scrapes if first * HOUR <= t - START < last * HOUR
        ]
        there = [t for t in scene.scrapes if not HOUR <= t - START < 2 * HOUR]
        scene.node("n0")
        scene.node("n1", at=there)
        scene.gpu("GPU-0", 0.5, node="n0")
        scene.gpu("GPU-1", 0.5, node="n1", at=there)
        path = tmp_path / f"{first}.om"
        path.write_text(scene.openmetrics())
        return path

    def fences() -> list[int]:
        away = Interval((START + HOUR) * 1000, (START + 2 * HOUR) * 1000)
        rows = IngestWindow.objects.filter(
            window_start__gte=away.start, window_start__lt=away.end
        )
        return list(rows.order_by("window_start").values_list("fence", flat=True))

    run("import_metrics", "--cluster=north", part(0, 3))
    before = fences()
    for hour in range(3, 8):
        run("import_metrics", "--cluster=north", part(hour, hour + 1))
    assert fences() == before
    walls = {uuid: row["wall_ms"] for uuid, row in gpus().items()}
    assert walls == {"GPU-0": 8 * HOUR_MS, "GPU-1": 7 * HOUR_MS}
