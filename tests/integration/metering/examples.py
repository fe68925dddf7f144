"""Examples of the documentation: a scrape, and the reports that must come of it.

A line of an `exposition` block is one series. It is scraped every minute from 10:00 to 10:05 on
1 October 2026, or at the minutes that stand behind it: `@0-2,5`. Of the other blocks `usage` is
by pod, `ledger` by GPU, `holds` by uid, `issues` are among those that are found, and `yaml` is
added to the set-up.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.integration.metering.support import report, run

DOCS = Path(__file__).parents[3] / "docs"
SETUP = """
billing: {currency: EUR, timezone: UTC}
teams:
  - {slug: vision, name: Vision}
bindings:
  - {namespace: vision, team: vision, valid_from: 2026-01-01}
prices:
  - {model: NVIDIA-A100-SXM4-80GB, rate_per_gpu_hour: "2.10", valid_from: 2026-01-01}
  - {model: AMD-Instinct-MI300X-OAM, rate_per_gpu_hour: "2.10", valid_from: 2026-01-01}
"""
START_S, STEP_S, SCRAPES = 1_790_848_800, 60, 6
WINDOW = {"from": "2026-10-01T10:00:00Z", "to": "2026-10-01T10:05:00Z"}
_MINUTES = re.compile(r"(?P<line>.*\}\s+\S+)\s+@(?P<minutes>[0-9,-]+)")


def sections(page: str) -> dict[str, str]:
    """The text of a page's headings that have an example, by heading."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text(), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: text for name, text in found.items() if "```exposition" in text}


def block(text: str, language: str) -> str:
    """A fenced block; empty where the text has none."""
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found.group(1) if found else ""


def table(text: str, language: str) -> list[dict[str, str]]:
    """The rows of a block, by column."""
    head, *lines = (line.split() for line in block(text, language).splitlines())
    assert lines
    return [dict(zip(head, line, strict=True)) for line in lines]


def history(scrapes: str) -> str:
    """The scrapes, each at its minutes: Prometheus text with times."""
    lines: list[str] = []
    for text in scrapes.splitlines():
        found = _MINUTES.fullmatch(text)
        line = found["line"] if found else text
        at = _minutes(found["minutes"]) if found else range(SCRAPES)
        lines += [f"{line} {(START_S + n * STEP_S) * 1000}\n" for n in at]
    return "".join(lines)


def _minutes(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def try_example(text: str, folder: Path) -> None:
    """Import an example's scrapes and compare the reports with its tables."""
    (folder / "setup.yaml").write_text(SETUP + block(text, "yaml"))
    (folder / "scrapes.prom").write_text(history(block(text, "exposition")))
    run("configure", folder / "setup.yaml")
    run("import_metrics", "--cluster=north", folder / "scrapes.prom")
    wanted = [("usage", "pod", "usage"), ("ledger", "gpu", "ledger")]
    assert any(block(text, language) for language in ("usage", "ledger", "holds"))
    for kind, by, language in wanted:
        if not block(text, language):
            continue
        rows: dict[str, dict[str, Any]] = {
            row[by]: row for row in report(kind, by=by, **WINDOW)
        }
        _compare(rows, by, table(text, language))
    if block(text, "holds"):
        _compare(
            {row["uid"]: row for row in report("holds")}, "uid", table(text, "holds")
        )
    if block(text, "issues"):
        known = {(row["code"], row["subject"]) for row in report("issues")}
        assert {(row["code"], row["subject"]) for row in table(text, "issues")} <= known


def _compare(
    rows: dict[str, dict[str, Any]], by: str, expected: list[dict[str, str]]
) -> None:
    """Every row is expected, and has what a table says of it."""
    assert set(rows) == {row[by] for row in expected}
    for row in expected:
        for name, value in row.items():
            assert str(rows[row[by]][name]) == value, f"{row[by]} {name}"
