"""The worked example of docs/metering.md, run through the importer and the reports.

The blocks of the page are the test's input and its expected answer: a wrong number on
the page fails here.
"""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from accounting.core.ledger_line import STATES
from accounting.metering.models.cluster import Cluster
from tests.integration.metering.support import report, run

PAGE = Path(__file__).parents[4] / "docs" / "metering.md"

pytestmark = pytest.mark.django_db(transaction=True)


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"docs/metering.md has no {language} block"
    return found.group(1)


def _table(language: str) -> list[dict[str, str]]:
    head, *lines = (line.split() for line in _block(language).strip().splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def _import(folder: Path, language: str) -> list[str]:
    """Set up, and import a block twice; what the imports print."""
    (folder / "setup.yaml").write_text(_block("yaml"))
    (folder / "samples.om").write_text(_block(language))
    run("configure", folder / "setup.yaml")
    again = range(2)
    return [
        run("import_metrics", "--cluster=north", folder / "samples.om") for _ in again
    ]


def test_page_numbers_come_out_of_the_importer(tmp_path: Path) -> None:
    assert not Cluster.objects.exists()
    printed = _import(tmp_path, "openmetrics")
    shown = _block("console").splitlines(keepends=True)
    assert "".join(printed) == "".join(x for x in shown if not x.startswith("$"))
    assert [cluster.name for cluster in Cluster.objects.all()] == ["north"]

    ledger = {row["gpu"]: row for row in report("ledger", by="gpu")}
    for expected in _table("ledger"):
        row = ledger[expected["gpu"]]
        for state in (*STATES, "wall"):
            assert row[f"{state}_ms"] == int(expected[f"{state}_ms"]), state
        assert row["wall_charge"] == expected["wall_charge"]

    [usage] = report("usage", by="team")
    [expected] = _table("usage")
    assert usage["team"] == expected["team"]
    for name in ("busy_ms", "idle_ms", "unknown_ms"):
        assert usage[name] == int(expected[name])
    for name in ("allocated_gpu_hours", "charge", "idle_charge"):
        assert usage[name] == expected[name]
    assert usage["efficiency"] == float(expected["efficiency"])
    assert usage["coverage"] == float(expected["coverage"])

    platform = sum(
        Decimal(str(row[f"{state}_charge"]))
        for row in ledger.values()
        for state in ("free", "stranded", "stray", "dark")
    )
    assert platform + Decimal(str(usage["charge"])) == Decimal("0.35")

    [wanted] = json.loads(_block("json"))["rows"]
    assert {name: usage[name] for name in wanted} == wanted  # also by type (N36)


def test_silence_of_kube_state_comes_out_of_the_importer(tmp_path: Path) -> None:
    _import(tmp_path, "silence")
    for kind, by in (("ledger", "gpu"), ("usage", "pod")):
        rows = {row[by]: row for row in report(kind, by=by)}
        expected = _table(f"silence-{kind}")
        assert set(rows) == {row[by] for row in expected}
        for wanted in expected:
            for name, value in wanted.items():
                assert str(rows[wanted[by]][name]) == value, f"{wanted[by]} {name}"


def test_a_gpu_that_nobody_has_comes_out_of_the_importer(tmp_path: Path) -> None:
    _import(tmp_path, "invented")
    [row] = report("ledger", by="gpu")
    [expected] = _table("invented-ledger")
    assert {name: str(row[name]) for name in expected} == expected
    [issue] = [r for r in report("issues") if r["code"] == "gpu_beyond_capacity"]
    assert (issue["subject"], issue["at_stake_ms"]) == ("GPU-z", 180_000)
