"""The worked example of docs/metering.md, run through the importer and the reports.

The blocks of the page are the test's input and its expected answer: a wrong number on
the page fails here.
"""

import io
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import call_command

from accounting.domain.line import STATES

PAGE = Path(__file__).parents[3] / "docs" / "metering.md"

pytestmark = pytest.mark.django_db(transaction=True)


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"docs/metering.md has no {language} block"
    return found.group(1)


def _table(language: str) -> list[dict[str, str]]:
    head, *lines = (line.split() for line in _block(language).strip().splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def _report(kind: str, by: str) -> list[dict[str, object]]:
    out = io.StringIO()
    call_command("report", kind, "--by", by, "--format", "json", stdout=out)
    rows: list[dict[str, object]] = json.loads(out.getvalue())["rows"]
    return rows


def test_page_numbers_come_out_of_the_importer(tmp_path: Path) -> None:
    (tmp_path / "setup.yaml").write_text(_block("yaml"))
    (tmp_path / "samples.om").write_text(_block("openmetrics"))
    call_command("configure", str(tmp_path / "setup.yaml"), stdout=io.StringIO())
    call_command(
        "import_metrics",
        str(tmp_path / "samples.om"),
        "--cluster",
        "north",
        stdout=io.StringIO(),
    )

    ledger = {row["gpu"]: row for row in _report("ledger", "gpu")}
    for expected in _table("ledger"):
        row = ledger[expected["gpu"]]
        for state in (*STATES, "wall"):
            assert row[f"{state}_ms"] == int(expected[f"{state}_ms"]), state
        assert row["wall_charge"] == expected["wall_charge"]

    [usage] = _report("usage", "team")
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
