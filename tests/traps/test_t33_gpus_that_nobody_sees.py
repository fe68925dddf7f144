"""T33: pods on a node without GPUs, and GPUs that no sample ever names."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accounting.months.tasks.checks.of_close import run_checks
from tests.integration.metering.support import report
from tests.traps.scene import HOUR, HOUR_MS, START, Pod, Scene, gpus, usage

pytestmark = pytest.mark.django_db(transaction=True)

LATER = datetime(2026, 11, 5, tzinfo=UTC)
TWO = 2 * HOUR


def issue(code: str) -> dict[str, Any]:
    """The one issue of a code."""
    [found] = [row for row in report("issues") if row["code"] == code]
    return found


def blocking(code: str) -> dict[str, str]:
    """What blocks a close of October by a check, which may be overridden."""
    [check] = [one for one in run_checks("2026-10", LATER) if one.code == code]
    assert check.is_overridable
    assert check.is_blocking is bool(check.causes)
    return {cause.subject: str(cause.value) for cause in check.causes}


def test_t33_pods_on_a_node_without_gpus_are_told_with_their_money(
    tmp_path: Path,
) -> None:
    """`node` was replaced by a scrape config; a pod of another node sets the price."""
    told = Scene(TWO)
    told.node("n1", 1)
    told.node("infra", {})
    told.pod(Pod("a", "infra", units=2), Pod("b", "infra"), Pod("good"))
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "good"})

    told.read(tmp_path)

    assert set(usage("pod")) == {"good"}
    found = issue("hold_without_gpus")
    assert found["subject"] == "infra"
    assert "2 pods held GPUs there" in found["message"]
    assert found["at_stake_ms"] == 3 * 2 * HOUR_MS
    assert found["at_stake_charge"] == "12.600000"
    assert blocking("without_gpus") == {"north/infra": str(3 * 2 * HOUR_MS)}
    assert blocking("never_sampled") == {}


def test_t33_gpus_that_were_never_sampled_are_told_with_their_money(
    tmp_path: Path,
) -> None:
    told = Scene(TWO)
    told.node("n1", 20)
    for uuid in ("GPU-1", "GPU-2", "GPU-3"):
        told.gpu(uuid, 0)

    told.read(tmp_path)

    assert len(gpus()) == 20
    found = issue("gpu_never_sampled")
    assert found["subject"] == "n1"
    assert found["message"] == "17 of 20 GPUs of this node were never sampled."
    assert found["at_stake_ms"] == 17 * 2 * HOUR_MS
    assert found["at_stake_charge"] == "71.400000"
    assert blocking("never_sampled") == {"north/n1": str(17 * 2 * HOUR_MS)}
    assert blocking("without_gpus") == {}


def test_t33_an_exporter_may_start_within_the_hour(tmp_path: Path) -> None:
    told = Scene(TWO)
    told.node("n1", 1)
    told.pod(Pod("good"))
    late = [at for at in told.scrapes if at >= START + HOUR]
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "good"}, at=late)

    told.read(tmp_path)

    assert report("issues") == []
    assert blocking("never_sampled") == blocking("without_gpus") == {}


def test_t33_a_capacity_that_comes_late_is_told_for_the_time_before(
    tmp_path: Path,
) -> None:
    """The device plugin registers after half an hour; until then nothing can be billed."""
    told = Scene(TWO)
    late = [at for at in told.scrapes if at >= START + HOUR / 2]
    told.node("n1", {})
    told.node("n1", 1, at=late)
    told.pod(Pod("early"))
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "early"}, at=late)

    told.read(tmp_path)

    assert issue("hold_without_gpus")["at_stake_ms"] == HOUR_MS // 2
    assert usage("pod")["early"]["allocated_ms"] == 3 * HOUR_MS // 2
