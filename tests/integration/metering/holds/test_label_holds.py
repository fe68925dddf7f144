"""Holds that only labels show: kube-state is silent, or was never there (rules.md N13)."""

from pathlib import Path

import pytest

from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import report, run

pytestmark = pytest.mark.django_db(transaction=True)

STEP_S = 30


def imported(text: Text, folder: Path) -> None:
    run("import_metrics", "--cluster=north", text.write(folder / "all.om"))


def test_a_name_on_two_nodes_is_a_hold_on_each(tmp_path: Path) -> None:
    text = Text()
    for n in (1, 2):
        start = HOUR_ZERO + 600 * n
        samples = dict.fromkeys(times(start, start + 300), 0.5)
        text.utilization(f"GPU-{n}", f"n{n}", samples, pod="train-0")
    imported(text, tmp_path)

    rows = report("holds")
    assert [(row["uid"], row["node"], row["units"]) for row in rows] == [
        ("vision/train-0", "n1", 1),
        ("vision/train-0", "n2", 1),
    ]
    usage = report("usage", by="pod")
    assert [row["busy_ms"] for row in usage] == [2 * 150_000]
    assert usage[0]["estimated"] is True
    assert "FAIL" not in run("verify")


def test_each_outage_of_kube_state_has_a_hold_of_its_own(tmp_path: Path) -> None:
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 3600)
    outages = [(600, 1200), (2400, 3000)]
    seen = [
        at
        for at in scrapes
        if not any(low <= at - HOUR_ZERO < high for low, high in outages)
    ]
    text.node("n1", 1, seen)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.5), pod="train-0")
    imported(text, tmp_path)

    rows = report("holds")
    # kube-state is not seen from one step after its last scrape until the next one
    assert [(row["bound"], row["ended"]) for row in rows] == [
        ("2026-10-01T10:10:00Z", "2026-10-01T10:20:00Z"),
        ("2026-10-01T10:40:00Z", "2026-10-01T10:50:00Z"),
    ]
    [ledger] = report("ledger", by="gpu")
    assert ledger["busy_ms"] == 2 * 300_000
    assert ledger["dark_ms"] == 0


def test_what_labels_show_in_each_outage_is_inferred(tmp_path: Path) -> None:
    text = Text()
    scrapes = times(HOUR_ZERO, HOUR_ZERO + 3600)
    outages = [(600, 1200), (2400, 3000)]
    seen = [
        at
        for at in scrapes
        if not any(low <= at - HOUR_ZERO < high for low, high in outages)
    ]
    text.node("n1", 1, seen)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.5), pod="train-0")
    imported(text, tmp_path)

    first = {"from": "2026-10-01T10:10:00Z", "to": "2026-10-01T10:20:00Z"}
    last = {"from": "2026-10-01T10:40:00Z", "to": "2026-10-01T10:50:00Z"}
    found = [
        report("usage", by="pod", **when)[0]["estimated"] for when in (first, last)
    ]
    assert found == [True, True]
