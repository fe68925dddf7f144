"""SQL of the product groups and orders by names: a number means another column after an edit."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BY_NUMBER = re.compile(r"\b(?:GROUP|ORDER) BY (?:[^\n]*?, ?)?\d+\b(?! ?\))")
COUNTED = re.compile(r"str\(\w+ \+ 1\) for \w+ in range")  # such numbers, counted
RENAMED = re.compile(r"""replace\(\s*["']%\(""")  # parameters found again in a text


def faults(text: str) -> list[str]:
    """Each place that groups or orders by number, or renames parameters in a text."""
    return [
        found[0]
        for one in (BY_NUMBER, COUNTED, RENAMED)
        for found in one.finditer(text)
    ]


@pytest.mark.parametrize("app", ["accounting", "scheduler_view", "portal"])
def test_sql_names_its_columns(app: str) -> None:
    found = {
        str(path.relative_to(ROOT)): faults(path.read_text())
        for path in (ROOT / app).rglob("*.py")
    }
    assert {path: some for path, some in found.items() if some} == {}


@pytest.mark.parametrize(
    "text",
    [
        "GROUP BY 1",
        "GROUP BY a, 2",
        "ORDER BY 2 DESC, 1",
        "ORDER BY a.b, 3 LIMIT 6",
        '", ".join(str(i + 1) for i in range(3))',
        'text.replace("%(", "%(then_")',
    ],
)
def test_the_check_finds(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text", ["ORDER BY a LIMIT 6", "GROUP BY a, b", "OVER (ORDER BY at) + 1"]
)
def test_the_check_leaves(text: str) -> None:
    assert not faults(text)
