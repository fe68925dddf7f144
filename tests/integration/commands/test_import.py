"""`import_metrics` as a person types it: what it says, intervals, reports while it runs.

Not here: what a file may hold (tests/integration/metering/sources), clusters with the same GPUs
(tests/integration/metering/inventory/test_two_clusters.py).
"""

import os
import pty
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from io import RawIOBase
from pathlib import Path

import pytest
from django.apps import apps

from accounting.metering.models.cluster import Source
from accounting.metering.models.ledger import BufferBlock
from accounting.usage.tasks.catch_up import ROLL_UP_AFTER_S
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.commands.conftest import run
from tests.integration.faults.support import (
    LONGEST_S,
    ROOT,
    command,
    environment,
    started,
    unfinished,
)
from tests.integration.metering.support import facts, report
from tests.integration.metering.support import run as done

pytestmark = pytest.mark.django_db(transaction=True)

HOURS = 14
GPUS = 2


def story(hours: float = HOURS, step: float = 60, sampled: int = 1) -> Text:
    """A node whose first GPU one pod holds all the time, scraped at a step in seconds.

    Of the exporter's samples each `sampled`-th came.
    """
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 3600 * hours, step)
    text.node("n1", GPUS, scrapes)
    text.pod("train", scrapes, node="n1", bound=HOUR_ZERO)
    for uuid, pod in (("GPU-1", "train"), ("GPU-2", "")):
        samples = dict.fromkeys(scrapes[::sampled], 0.5)
        text.utilization(uuid, "n1", samples, pod=pod)
    return text


# --- reports while it runs ------------------------------------------------------------


@pytest.mark.timeout(300)
def test_reports_fill_while_it_runs_and_are_conserved_at_any_time(
    tmp_path: Path, redis_url: str
) -> None:
    """Each hour takes 1.5 s, so that the whole takes longer than a roll-up waits."""
    (tmp_path / "setup.yaml").write_text(SETUP)
    done("configure", tmp_path / "setup.yaml")
    path = story().write(tmp_path / "all.om")
    slow = environment(redis_url, "read:sleep:1.5")
    totals: list[int] = []
    with started(slow, "import_metrics", "--cluster=north", path) as child:
        while child.poll() is None:
            hours = report("ledger", by="hour")
            assert all(row["wall_ms"] == GPUS * 3_600_000 for row in hours)
            assert all(float(row["wall_charge"]) == GPUS * 2.1 for row in hours)
            totals.append(sum(row["wall_ms"] for row in hours))
            assert "FAIL" not in done("verify")
            time.sleep(0.5)  # reading all the time takes the processors from the import
        out, err = child.communicate()
    assert child.returncode == 0, err
    assert totals == sorted(totals)
    between = {total for total in totals if 0 < total < GPUS * HOURS * 3_600_000}
    assert len(between) >= 1.5 * HOURS / ROLL_UP_AFTER_S - 1
    assert unfinished() == []
    windows = 12 * HOURS + 1  # the last sample's step reaches into the next
    assert f", {windows} windows, " in out
    lines = re.findall(
        r"^Computing windows: (\d+) of (\d+) \(\d+%\), \S+ per second, (\S+) left$",
        err,
        re.MULTILINE,
    )
    assert len(lines) >= 2, err
    assert {int(total) for _, total, _ in lines} == {windows}


# --- the interval (N4) ----------------------------------------------------------------


def allocated() -> dict[str, int]:
    """What the pod held, and how much of it was observed."""
    [row] = report("usage", by="pod")
    return {name: row[f"{name}_ms"] for name in ("allocated", "busy", "unknown")}


def interval_of(said: str) -> str:
    [found] = [line for line in said.splitlines() if line.startswith("interval: ")]
    return found.removeprefix("interval: ")


def test_it_says_which_interval_it_concluded(tmp_path: Path) -> None:
    path = story(1, step=60).write(tmp_path / "all.om")
    said = done("import_metrics", "--cluster=north", path)
    assert interval_of(said) == "60 s, derived from the samples"
    again = done("import_metrics", "--cluster=north", path)
    assert interval_of(again) == "60 s, derived from the samples"


def test_it_says_so_of_each_job_where_they_differ(tmp_path: Path) -> None:
    text = Text()
    jobs = (("kube-state-metrics", "k:80", 60), ("dcgm", "n1:94", 15))
    for job, instance, step in (*jobs, ("dcgm", "n2:94", 15), ("dcgm", "n3:94", 30)):
        scrape = {"job": job, "instance": instance}
        labels = {"UUID": f"GPU-{instance[:2]}", "Hostname": instance[:2]} | scrape
        for at in times(HOUR_ZERO, HOUR_ZERO + 900, step):
            if job == "dcgm":
                text.add("DCGM_FI_DEV_GPU_UTIL", labels, 50, at + 0.004 * (at % 7))
            else:
                text.add("kube_node_info", {"node": "n1"} | scrape, 1, at)
    said = done("import_metrics", "--cluster=north", text.write(tmp_path / "all.om"))
    assert interval_of(said) == (
        "15 s, but 30 s from n3:94 (dcgm), 60 s (kube-state-metrics), derived from the samples"
    )


def test_too_few_samples_are_said(tmp_path: Path) -> None:
    path = story(0.02, step=60).write(tmp_path / "all.om")
    said = done("import_metrics", "--cluster=north", path)
    assert interval_of(said) == "30 s (default, no samples), derived from the samples"


def test_an_interval_that_is_declared_rules_and_is_kept(tmp_path: Path) -> None:
    """Each third sample came: a sample speaks for a minute, not for three (N4, N5)."""
    first = story(1, sampled=3).write(tmp_path / "first.om")
    later = story(2, sampled=3)
    second = later.write(
        tmp_path / "second.om", later.between(HOUR_ZERO + 3600, HOUR_ZERO + 7200)
    )
    said = done("import_metrics", "--cluster=north", "--interval=60", first)
    assert interval_of(said).startswith("60 s, declared; the samples arrive every ")
    assert allocated() == {
        "allocated": 3_600_000,
        "busy": 20 * 30_000,
        "unknown": 40 * 60_000,
    }
    said = done("import_metrics", "--cluster=north", second)
    assert interval_of(said).startswith("60 s, declared")
    assert allocated()["unknown"] == 2 * 40 * 60_000
    assert Source.objects.get().interval_s == 60
    assert "FAIL" not in done("verify")


def test_another_interval_computes_what_is_there_anew(tmp_path: Path) -> None:
    path = story(1, sampled=3).write(tmp_path / "all.om")
    done("import_metrics", "--cluster=north", "--interval=60", path)
    declared = facts()
    assert allocated()["unknown"] > 0

    done("import_metrics", "--cluster=north", "--interval=180", path)
    # to eleven o'clock by the exporter's last sample, for two minutes more by kube-state's
    assert allocated() == {
        "allocated": 3_600_000 + 120_000,
        "busy": 3_600_000 // 2,
        "unknown": 120_000,
    }
    assert BufferBlock.objects.count() == 1, "no sample is new"

    done("import_metrics", "--cluster=north", "--interval=60", path)
    assert facts() == declared
    history = apps.get_model("accounting", "SourceEvent").objects.order_by("pgh_id")
    assert list(history.values_list("interval_s", flat=True)) == [None, 60, 180, 60]


@pytest.mark.parametrize(
    "value", ["0", "301", "-1", "1.5", "30s", "", "1e2", "٣٠", "99999999999"]
)
def test_an_interval_that_is_none_is_wrong_use(value: str, tmp_path: Path) -> None:
    path = story(0.1).write(tmp_path / "all.om")
    ended = run("import_metrics", "--cluster=north", f"--interval={value}", str(path))
    assert (ended.code, ended.out) == (2, "")
    assert f"--interval {value!r} is not a whole number of seconds" in ended.err
    assert not Source.objects.exists()


# --- on a terminal --------------------------------------------------------------------


def test_a_terminal_shows_a_bar_with_share_and_time_left(
    tmp_path: Path, redis_url: str
) -> None:
    path = story(3).write(tmp_path / "all.om")
    ours, theirs = pty.openpty()
    seen = environment(redis_url, "read:sleep:1") | {"COLUMNS": "100", "TERM": "xterm"}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        child = subprocess.Popen(
            command("import_metrics", "--cluster=north", path),
            cwd=ROOT,
            env=seen,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b"".join(_chunks(screen)).decode()
        assert child.wait(LONGEST_S) == 0
        child.communicate()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)  # colors
    assert re.search(r"Computing windows \S+ 25/37 +68% \d:\d\d:\d\d", shown), shown


def _chunks(screen: RawIOBase) -> Iterator[bytes]:
    """What a terminal is sent until its program has ended."""
    with suppress(OSError):  # how a terminal says so
        while chunk := screen.read(4096):
            yield chunk
