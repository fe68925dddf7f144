"""The examples of docs/shapes.md, each run through the importer and the reports."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.accounting.support import report, run

PAGE = Path(__file__).parents[3] / "docs" / "shapes.md"
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

pytestmark = pytest.mark.django_db(transaction=True)


def sections() -> dict[str, str]:
    """Text by heading."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def block(text: str, language: str) -> str:
    """A fenced block."""
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found, f"no {language} block"
    return found.group(1)


def table(text: str, language: str) -> list[dict[str, str]]:
    """The rows of a block, by column."""
    head, *lines = (line.split() for line in block(text, language).splitlines())
    assert lines
    return [dict(zip(head, line, strict=True)) for line in lines]


def history(scrape: str) -> str:
    """The scrape, repeated: Prometheus text with times."""
    return "".join(
        f"{line} {(START_S + n * STEP_S) * 1000}\n"
        for line in scrape.splitlines()
        for n in range(SCRAPES)
    )


@pytest.mark.parametrize("heading", sections())
def test_example_comes_out_of_the_importer(heading: str, tmp_path: Path) -> None:
    text = sections()[heading]
    more = block(text, "yaml") if "```yaml" in text else ""
    (tmp_path / "setup.yaml").write_text(SETUP + more)
    (tmp_path / "scrapes.prom").write_text(history(block(text, "exposition")))
    run("configure", tmp_path / "setup.yaml")
    run("import_metrics", "--cluster=north", tmp_path / "scrapes.prom")
    for kind, by, language in (("usage", "pod", "usage"), ("ledger", "gpu", "ledger")):
        rows: dict[str, dict[str, Any]] = {
            row[by]: row for row in report(kind, by=by, **WINDOW)
        }
        expected = table(text, language)
        assert set(rows) == {row[by] for row in expected}
        for wanted in expected:
            for name, value in wanted.items():
                assert str(rows[wanted[by]][name]) == value, f"{wanted[by]} {name}"
