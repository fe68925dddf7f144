"""Whose kube-state counts: another job gets nothing into a bill (rules.md N40).

The attack that was measured on the first version: a second job that told of pods moved 40
GPU-hours to a team of its choice. The fleet here has one GPU that vision holds and twenty
that nobody does, for three hours; the strange job lets robotics hold those from the second hour
on.
"""

from pathlib import Path
from typing import Any

import pytest

from accounting.core.interval import HOUR_MS, Interval
from accounting.kit.audit import SYSTEM
from accounting.metering.actions.kube_state_jobs import set_accepted
from accounting.metering.models.cluster import Cluster
from accounting.metering.tasks import merge_buffered
from accounting.metering.tasks.evidence.observe import observe_period
from accounting.metering.tasks.kube_state_jobs.changes import apply_accepted_jobs
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.reading.cluster_reader import reader_of
from accounting.usage.tasks.rollup import roll_up_dirty_hours
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.metering.support import clear, facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3600
END = HOUR_ZERO + 3 * HOUR
STEP = 60
SIZES = {"n0": 1, "n1": 10, "n2": 10}


def of_job(text: Text, job: str) -> Text:
    """The same as a job shows it."""
    for name, lines in text.families.items():
        if name.startswith("kube_"):
            labels = f'job="{job}",instance="{job}:8080"'
            text.families[name] = [x.replace("{", f"{{{labels},", 1) for x in lines]
    return text


def kube(job: str, start: float, end: float) -> Text:
    """Three nodes, and a pod of vision on the first."""
    text, scrapes = Text(), times(start, end, STEP)
    for node, size in SIZES.items():
        text.node(node, size, scrapes)
    text.pod("train", scrapes, node="n0", bound=HOUR_ZERO)
    return of_job(text, job)


def gpus() -> Text:
    """What their exporters show."""
    text, scrapes = Text(), times(HOUR_ZERO, END, STEP)
    for node, size in SIZES.items():
        for n in range(size):
            pod = "train" if node == "n0" else ""
            text.utilization(
                f"GPU-{node}{n}", node, dict.fromkeys(scrapes, 0.5), pod=pod
            )
    return text


def strange(
    start: float = HOUR_ZERO + HOUR, *, end: float = END, nodes: bool = True
) -> Text:
    """A job that lets robotics hold all that is free."""
    text, scrapes = Text(), times(start, end, STEP)
    for node in ("n1", "n2"):
        if nodes:
            text.node(node, 10, scrapes)
        text.pod(
            f"claim-{node}",
            scrapes,
            node=node,
            bound=start,
            namespace="robotics",
            units=10,
        )
    return of_job(text, "strange")


def imported(folder: Path, *texts: Text, more: str = "") -> None:
    """Set up, and import each text."""
    configured(folder, more)
    for n, text in enumerate(texts):
        run("import_metrics", "--cluster=north", text.write(folder / f"{n}.om"))


def configured(folder: Path, more: str = "") -> None:
    (folder / "setup.yaml").write_text(SETUP + more)
    run("configure", folder / "setup.yaml")


def bill() -> tuple[Any, ...]:
    """What everybody pays, the platform too, and who held what."""
    return (
        facts(),
        report("usage", by="team"),
        report("ledger", by="gpu"),
        report("holds"),
    )


def hours(team: str) -> float:
    """GPU-hours that a team holds."""
    rows = {row["team"]: row for row in report("usage", by="team")}
    return rows[team]["allocated_ms"] / HOUR_MS if team in rows else 0


def issues(code: str) -> list[dict[str, Any]]:
    return [row for row in report("issues") if row["code"] == code]


def accept(*jobs: str) -> None:
    """Accept jobs, as a person does, and let the worker bring it about."""
    cluster = Cluster.objects.get(name="north")
    set_accepted(cluster, jobs, actor=SYSTEM, reason="test")
    ingest_all(cluster)
    roll_up_dirty_hours(cluster.pk)


# --- the attack --------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [True, False], ids=["nodes", "only pods"])
def test_a_strange_job_moves_nothing(nodes: bool, tmp_path: Path) -> None:
    imported(tmp_path, kube("ksm", HOUR_ZERO, END), gpus())
    before = bill()
    path = strange(nodes=nodes).write(tmp_path / "strange.om")
    run("import_metrics", "--cluster=north", path)

    assert bill() == before
    assert (hours("vision"), hours("robotics")) == (3, 0)
    [issue] = issues("other_kube_state")
    assert issue["subject"] == "strange"
    assert issue["severity"] == "error"
    assert issue["at_stake_ms"] == 40 * HOUR_MS
    assert "FAIL" not in run("verify")


def test_the_order_of_files_makes_no_difference(tmp_path: Path) -> None:
    texts = (kube("ksm", HOUR_ZERO, END), gpus(), strange())
    imported(tmp_path, *texts)
    first = bill()
    for order in ((2, 1, 0), (1, 2, 0)):
        clear()
        imported(tmp_path, *(texts[n] for n in order))
        assert bill() == first


def test_an_accepted_job_counts_until_that_is_taken_back(tmp_path: Path) -> None:
    imported(tmp_path, kube("ksm", HOUR_ZERO, END), gpus(), strange())
    before = bill()
    accept("strange")
    assert (hours("vision"), hours("robotics")) == (3, 40)
    assert issues("other_kube_state") == []
    assert "FAIL" not in run("verify")
    accept()
    assert bill() == before
    assert len(issues("other_kube_state")) == 1


# --- samples that are in the evidence already ----------------------------------------


def test_an_older_file_lets_samples_far_from_it_count(tmp_path: Path) -> None:
    """It shows that `strange` was there first, so all of it counts, and `ksm` does not."""
    at = HOUR_ZERO + 4 * HOUR
    late = strange(at + HOUR, end=at + 5 * HOUR)
    texts = (kube("ksm", at, at + 2 * HOUR), gpus(), late)
    imported(tmp_path, *texts)
    assert hours("robotics") == 0
    older = kube("strange", HOUR_ZERO, HOUR_ZERO + HOUR).write(tmp_path / "older.om")
    run("import_metrics", "--cluster=north", older)
    assert hours("robotics") == 80
    assert "FAIL" not in run("verify")
    known = bill()
    clear()
    configured(tmp_path)
    run("import_metrics", "--cluster=north", older, *sorted(tmp_path.glob("[0-9].om")))
    assert bill() == known


@pytest.mark.parametrize("is_done", [True, False], ids=["brought about", "accepted"])
def test_samples_that_were_read_before_a_job_was_accepted_are_folded(
    is_done: bool, tmp_path: Path
) -> None:
    """As a worker does that was about to compute an hour in that moment."""
    imported(tmp_path, kube("ksm", HOUR_ZERO, END), gpus(), strange())
    start_ms = (HOUR_ZERO + HOUR) * 1000
    period = Interval(start_ms, start_ms + HOUR_MS)
    cluster = Cluster.objects.get(name="north")
    reader = reader_of(cluster)
    readings = reader.read(period)
    merge_buffered.merge_samples(cluster, period, lambda *_: None)
    assert reader.is_folded(period)
    set_accepted(
        Cluster.objects.get(name="north"), ["strange"], actor=SYSTEM, reason="test"
    )
    if is_done:
        apply_accepted_jobs(cluster)
    state = observe_period(cluster, reader, readings, period, is_observed=True)
    assert {hold.node for hold in state.derived.holds} == set(SIZES)


# --- the setup file ----------------------------------------------------------------


def test_the_setup_file_accepts_jobs(tmp_path: Path) -> None:
    imported(tmp_path, kube("ksm", HOUR_ZERO, END), gpus(), strange())
    before = bill()
    configured(tmp_path, "clusters: [{name: north, kube_state_jobs: [strange]}]\n")
    assert hours("robotics") == 40
    configured(tmp_path, "clusters: [{name: north}]\n")  # says nothing of jobs
    assert hours("robotics") == 40
    configured(tmp_path, "clusters: [{name: north, kube_state_jobs: []}]\n")
    assert bill() == before


# --- shards and renamed jobs -------------------------------------------------------


def test_a_shard_under_a_job_of_its_own_counts_with_an_issue(tmp_path: Path) -> None:
    shard, scrapes = Text(), times(HOUR_ZERO + HOUR, END, STEP)
    shard.node("n3", 2, scrapes)
    shard.pod("more", scrapes, node="n3", bound=HOUR_ZERO + HOUR, namespace="robotics")
    imported(
        tmp_path, kube("ksm", HOUR_ZERO, END), gpus(), of_job(shard, "ksm-shard-1")
    )
    assert (hours("vision"), hours("robotics")) == (3, 2)
    [issue] = issues("kube_state_shard")
    assert (issue["subject"], issue["severity"]) == ("ksm-shard-1", "warning")
    assert issue["at_stake_ms"] == 2 * HOUR_MS


def test_a_renamed_job_takes_over_after_an_hour(tmp_path: Path) -> None:
    """The old name was read last at 10:59; the new one counts from 11:59 on."""
    at = HOUR_ZERO + HOUR
    imported(tmp_path, kube("ksm", HOUR_ZERO, at), kube("new", at, END), gpus())
    [issue] = issues("kube_state_renamed")
    assert (issue["subject"], issue["severity"]) == ("new", "warning")
    assert hours("vision") == 3  # its label keeps the hold while nobody is seen
    accept("new")
    assert issues("kube_state_renamed") == []
    assert hours("vision") == 3
    rows = {row["cluster"]: row for row in report("ledger", by="cluster")}
    assert rows["north"]["dark_ms"] == 0
