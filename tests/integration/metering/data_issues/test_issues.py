"""Data issues: found, told in words, resolved by themselves when their cause is gone."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.core.issue_catalogue import TEXTS
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from tests.builders import HOUR_ZERO, SETUP, Text, times
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)
RATIO = "DCGM_FI_DEV_GPU_UTIL_RATIO"
SCRAPES = times(HOUR_ZERO, HOUR_ZERO + 1800)
DAY = 86_400


def node(name: str = "n1", job: str = "dcgm", metric: str = RATIO) -> Text:
    """Half an hour of one GPU with a pod; its utilization is told in percent."""
    text = Text()
    text.node(name, 1, SCRAPES)
    text.pod("train", SCRAPES, node=name, bound=HOUR_ZERO)
    for at in SCRAPES:
        labels = {"UUID": "GPU-1", "Hostname": name, "job": job}
        text.add(metric, labels | {"exported_pod": "train"}, 85, at)
    return text


def imported(text: Text, folder: Path, name: str = "a.om") -> None:
    run("import_metrics", "--cluster=north", text.write(folder / name))


def configured(text: str, folder: Path) -> None:
    path = folder / "setup.yaml"
    path.write_text(SETUP + text)
    run("configure", path)


def found(code: str, state: str = "open") -> list[dict[str, Any]]:
    return [row for row in report("issues", state=state) if row["code"] == code]


def test_every_code_that_the_source_knows_has_words() -> None:
    used: set[str] = set()
    for path in Path("accounting").rglob("*.py"):
        text = path.read_text()
        used |= set(re.findall(r'(?<![a-z_])code="([a-z_]+)"', text))
    assert used <= TEXTS.keys()
    assert "suspect_silence" in used


def test_a_declared_scale_resolves_its_issue_at_once(tmp_path: Path) -> None:
    configured("", tmp_path)
    imported(node(), tmp_path)
    [issue] = found("utilization_scale")
    assert issue["subject"] == RATIO
    assert issue["title"] == TEXTS["utilization_scale"].title
    assert issue["at_stake_ms"] == 1_800_000
    assert "Declare" in issue["advice"]
    declared = f"""
clusters:
  - name: north
    sources:
      - {{name: files, kind: openmetrics, scales: {{{RATIO}: percent}}}}
"""
    configured(declared, tmp_path)
    run(
        "ingest",
        "--cluster=north",
        "--from=2026-10-01T10:00Z",
        "--to=2026-10-01T10:30Z",
    )
    assert found("utilization_scale") == []
    [row] = found("utilization_scale", "resolved")
    assert row["resolved_at"] is not None
    [usage] = report("usage", by="pod")
    assert usage["efficiency"] == 0.85


def test_a_day_of_data_without_it_resolves_an_issue(tmp_path: Path) -> None:
    text = node()
    text.add(
        "DCGM_FI_DEV_XID_ERRORS", {"UUID": "GPU-1", "Hostname": "n1"}, 79, SCRAPES[3]
    )
    imported(text, tmp_path)
    [issue] = found("gpu_xid")
    assert issue["subject"] == "GPU-1 XID 79"
    assert "off the bus" in issue["message"]
    assert issue["first_seen"] == issue["last_seen"]
    later = Text()
    later.node("n1", 1, times(HOUR_ZERO + DAY, HOUR_ZERO + DAY + 1800))
    imported(later, tmp_path, "later.om")
    assert found("gpu_xid") == []
    assert len(found("gpu_xid", "resolved")) == 1


def test_an_issue_that_is_known_writes_nothing(tmp_path: Path) -> None:
    imported(node(), tmp_path)
    before = report("issues", state="all")
    imported(node(), tmp_path)
    assert report("issues", state="all") == before


def test_issues_that_are_alike_are_listed_by_cluster() -> None:
    """They stood in the order in which Postgres had last written them."""
    at = datetime(2026, 11, 20, tzinfo=UTC)
    for name in ("south", "north", "east"):
        DataIssue.objects.create(
            cluster=Cluster.objects.create(name=name),
            code="unpriced_gpu",
            subject="NVIDIA-L40S",
            severity="error",
            message="No price matches.",
            first_seen=at,
            last_seen=at,
        )
    assert [row["cluster"] for row in report("issues")] == ["east", "north", "south"]


def test_a_job_that_is_not_on_the_list_reaches_no_bill(tmp_path: Path) -> None:
    jobs = """
clusters:
  - name: north
    sources: [{name: files, kind: openmetrics, jobs: [dcgm, kube-state]}]
"""
    configured(jobs, tmp_path)
    text = node(metric="DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    foreign = {"UUID": "GPU-evil", "Hostname": "n1", "job": "somebody"}
    for name, lines in list(text.families.items()):
        if name.startswith("kube_"):
            text.families[name] = [
                x.replace("{", '{job="kube-state",', 1) for x in lines
            ]
    for at in SCRAPES:
        text.add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", foreign, 1, at)
    imported(text, tmp_path)
    [issue] = found("foreign_job")
    assert issue["subject"] == "files: somebody"
    assert {row["gpu"] for row in report("ledger", by="gpu")} == {"GPU-1"}


def test_jobs_must_be_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\nclusters: [{name: north, sources: [{kind: openmetrics, jobs: dcgm}]}]\n"
    with pytest.raises(SystemExit):
        configured(text, tmp_path)


@pytest.mark.parametrize("odd", ["a\x1b[31m", "\u202etrain", "a\u2028b"])
def test_a_name_with_characters_of_no_name_is_left_out_and_said(
    odd: str, tmp_path: Path
) -> None:
    text = node(metric="DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    text.pod(odd, SCRAPES, node="n1", bound=HOUR_ZERO)
    imported(text, tmp_path)
    assert {row["pod"] for row in report("holds")} == {"train"}
    subjects = {row["subject"] for row in found("odd_label")}
    assert "kube_pod_info: pod" in subjects


def test_one_measure_under_two_names_is_said_and_counted_once(tmp_path: Path) -> None:
    text = Text()
    text.node("n1", 1, SCRAPES)
    text.pod("train", SCRAPES, node="n1", bound=HOUR_ZERO)
    labels = {"UUID": "GPU-1", "Hostname": "n1", "job": "dcgm", "instance": "n1:9400"}
    for at in SCRAPES:
        text.add("DCGM_FI_DEV_GPU_UTIL", labels, 50, at)
        text.add(RATIO, labels, 0.5, at)
    imported(text, tmp_path)
    [issue] = found("metric_twice")
    assert issue["subject"] == f"dcgm n1:9400: DCGM_FI_DEV_GPU_UTIL, {RATIO}"
    assert issue["at_stake_ms"] > 1_700_000
    [row] = report("usage", by="pod")
    assert row["busy_ms"] == 900_000


def test_what_is_at_stake_is_told_in_money_too(tmp_path: Path) -> None:
    configured("", tmp_path)
    text = Text()
    text.node("n1", 1, SCRAPES)
    text.pod("train", SCRAPES, node="n1", bound=HOUR_ZERO, namespace="elsewhere")
    text.utilization("GPU-1", "n1", dict.fromkeys(SCRAPES, 0.5), pod="train")
    imported(text, tmp_path)
    [issue] = found("unmapped_namespace")
    assert issue["at_stake_ms"] == 1_800_000
    assert issue["at_stake_charge"] == "1.050000"


def half_an_hour(day: int, namespace: str) -> Text:
    """A pod of a day, by its number from the first one."""
    times_of_day = times(HOUR_ZERO + day * DAY, HOUR_ZERO + day * DAY + 1800)
    text = Text()
    text.node("n1", 1, times_of_day)
    text.pod(
        f"train-{day}",
        times_of_day,
        node="n1",
        bound=HOUR_ZERO + day * DAY,
        namespace=namespace,
    )
    text.utilization(
        "GPU-1", "n1", dict.fromkeys(times_of_day, 0.5), pod=f"train-{day}"
    )
    return text


def test_time_of_before_a_rule_is_no_fault_of_today(tmp_path: Path) -> None:
    configured("", tmp_path)
    imported(half_an_hour(0, "elsewhere"), tmp_path)
    [issue] = found("unmapped_namespace")
    assert issue["severity"] == "warning"
    assert issue["message"] == "No attribution rule maps this namespace to a team."
    first = datetime.fromtimestamp(HOUR_ZERO, UTC)
    after = f"{first + timedelta(days=1):%-d %b %Y}"
    imported(half_an_hour(2, "vision"), tmp_path, "b.om")
    [issue] = found("unmapped_namespace")
    assert (issue["severity"], issue["message"]) == (
        "info",
        f"Its usage before {after} has no team. It has not used GPUs since.",
    )
    Binding.objects.create(
        kind=BindingKind.NAMESPACE,
        glob="elsewhere",
        team=Team.objects.earliest("pk"),
        position=99,
        valid_from=first + timedelta(days=3),
    )
    imported(half_an_hour(4, "elsewhere"), tmp_path, "c.om")
    [issue] = found("unmapped_namespace")
    assert issue["message"] == (
        f"Its usage before {after} has no team; its later usage has one."
    )
    assert issue["at_stake_ms"] == 1_800_000


def test_an_unknown_name_is_said_until_a_later_file_lacks_it(tmp_path: Path) -> None:
    text = node(metric="DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    for at in SCRAPES:
        text.add(
            "DCGM_FI_DEV_SOMETHING_NEW", {"UUID": "GPU-1", "Hostname": "n1"}, 5, at
        )
    imported(text, tmp_path)
    [issue] = found("unknown_metric")
    assert issue["subject"] == "DCGM_FI_DEV_SOMETHING_NEW"
    later = Text()
    later.node("n1", 1, times(HOUR_ZERO + 3600, HOUR_ZERO + 5400))
    imported(later, tmp_path, "later.om")
    assert found("unknown_metric") == []
    assert len(found("unknown_metric", "resolved")) == 1
