"""T4: trusting the declared type."""

from pathlib import Path

import pytest

from accounting.metering.sources.catalogue import EXPORTER_METRICS
from tests.integration.metering.support import report
from tests.traps.scene import START, Pod, Scene

pytestmark = pytest.mark.django_db(transaction=True)

XID = "DCGM_FI_DEV_XID_ERRORS"


def test_t4a_nvlink_throughput_is_a_rate_already() -> None:
    old = EXPORTER_METRICS["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"]
    new = EXPORTER_METRICS["DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND"]
    assert old.id == new.id
    assert 182e9 <= 182_000 * old.scale <= 187e9
    assert new.scale == 1


def told_of(code: int) -> Scene:
    """Two minutes of one last error."""
    told = Scene(600)
    told.node()
    told.pod(Pod("train-0"))
    told.gpu("GPU-1", 0.5)
    first = START + 120
    shown = [at for at in told.scrapes if first <= at < first + 120]
    told.gpu("GPU-1", code, metric=XID, at=shown)
    return told


def xids() -> list[dict[str, object]]:
    """Data issues that name an XID."""
    return [row for row in report("issues") if "xid" in row["code"].lower()]


def test_t4b_a_sticky_error_is_one(tmp_path: Path) -> None:
    told = told_of(31)
    values = [s.value for s in told.samples if s.name == XID]
    assert (len(values), sum(values)) == (4, 124)

    told.read(tmp_path)

    [row] = xids()
    assert "GPU-1" in str(row["subject"])
    assert "31" in f"{row['subject']} {row['message']}"
    assert str(row["first_seen"]).startswith("2026-10-01T10:0")


def test_t4b_zero_is_none(tmp_path: Path) -> None:
    told_of(0).read(tmp_path)
    assert xids() == []
