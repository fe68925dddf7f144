"""`observe --follow`: all clusters, also those that are connected or changed later."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.tasks.watch import follow_all
from scheduler_view.clusters.models import Observation, ObservationRun
from tests.control_plane.world import GPU_KEY, World

PATIENCE_S = 30


@pytest.fixture
def beats(transactional_db: None) -> Iterator[list[float]]:
    """Everything is followed while the test runs; when it was alive."""
    del transactional_db
    found: list[float] = []
    ending = threading.Event()
    run = partial(
        follow_all,
        now=timezone.now,
        ending=ending,
        alive=lambda: found.append(time.monotonic()),
        pause_s=0.2,
        watch_s=2,
    )
    thread = threading.Thread(target=run)
    thread.start()
    yield found
    ending.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def wait(what: str, condition: object) -> None:
    """Until it holds."""
    until = time.monotonic() + PATIENCE_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, what
        time.sleep(0.05)


def seen(name: str) -> bool:
    return Observation.objects.filter(kind="ResourceQuota", name=name).exists()


def test_a_cluster_is_followed_from_when_it_is_connected(
    world: World, beats: list[float]
) -> None:
    wait("it lives without a cluster", lambda: len(beats) > 1)
    world.admin.make_quota(world.name, "first", {GPU_KEY: "4"})
    cluster = Cluster.objects.create(name="east")
    wait("it lives without access", lambda: len(beats) > 3)
    assert not ObservationRun.objects.exists()
    cluster.kubernetes = world.settings
    cluster.save()
    wait("what is there is seen", lambda: seen("first"))
    world.admin.make_quota(world.name, "second", {GPU_KEY: "4"})
    wait("what comes is seen", lambda: seen("second"))
    count = len(beats)
    wait("it lives", lambda: len(beats) > count)


def test_new_settings_are_used_and_a_silent_cluster_stops_no_other(
    world: World, beats: list[float]
) -> None:
    away = {"reader": {"server": "https://127.0.0.1:9", "token": "none"}}
    cluster = Cluster.objects.create(name="east", kubernetes=away)
    wait("it cannot be read", lambda: ObservationRun.objects.exclude(error="").exists())
    Cluster.objects.create(name="west", kubernetes=world.settings)
    world.admin.make_quota(world.name, "first", {GPU_KEY: "4"})
    wait("the other is seen", lambda: seen("first"))
    cluster.kubernetes = world.settings
    cluster.save()
    rows = Observation.objects.filter(cluster=cluster, name="first")
    wait("the new settings are used", rows.exists)
    count = len(beats)
    wait("it lives", lambda: len(beats) > count)


def test_the_command_says_that_it_lives_and_ends_when_asked(
    transactional_db: None, tmp_path: Path
) -> None:
    del transactional_db
    alive = tmp_path / "alive"
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}

    def stop() -> None:
        wait("it lives", alive.exists)
        os.kill(os.getpid(), signal.SIGTERM)

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        call_command("observe", "--follow", f"--alive-file={alive}")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    stopper.join(PATIENCE_S)
    assert alive.exists()
