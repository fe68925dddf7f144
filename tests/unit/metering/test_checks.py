"""Data issues come from one list of checks."""

import ast
from pathlib import Path
from typing import get_args

from accounting.metering.tasks.data_issues.checks import CHECKS
from accounting.metering.tasks.data_issues.events import Event

ROOT = Path(__file__).resolve().parents[3]


def makes_issues(text: str) -> bool:
    """Whether a module makes an `Issue`."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Issue"
        for node in ast.walk(ast.parse(text))
    )


def test_each_event_has_checks_and_each_check_is_of_one_event() -> None:
    assert set(CHECKS) == set(get_args(Event))
    checks = [check for group in CHECKS.values() for check in group]
    assert len(checks) == len(set(checks))
    assert all(CHECKS.values())


def test_ingestion_makes_issues_in_checks_only() -> None:
    assert makes_issues("found = Issue('a', 'b', 'c', 0, 1)")
    found = {
        path.parent.name
        for path in (ROOT / "accounting/metering/tasks").rglob("*.py")
        if makes_issues(path.read_text())
    }
    assert found == {"data_issues"}
