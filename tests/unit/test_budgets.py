"""A test that draws few examples in `make test` draws any number in `make soak EXAMPLES=`."""

import importlib
import re
from pathlib import Path

import pytest

from tests import budgets

TESTS = Path(__file__).resolve().parents[1]
MAKEFILE = TESTS.parent / "Makefile"


def test_soak_runs_every_file_that_has_a_budget() -> None:
    lines = MAKEFILE.read_text().replace("\\\n", " ").splitlines()
    [drawn] = [line for line in lines if line.startswith("DRAWN := ")]
    with_budget = {
        f"tests/{path.relative_to(TESTS)}"
        for path in TESTS.rglob("test_*.py")
        if re.search("^from tests.budgets import", path.read_text(), re.MULTILINE)
    }
    assert set(drawn.split()[2:]) == with_budget


def test_examples_of_the_environment_replace_the_usual_ones_and_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv("EXAMPLES", raising=False)
        importlib.reload(budgets)
        assert (budgets.examples(6), budgets.seconds(300)) == (6, 300)
        patch.setenv("EXAMPLES", "1000")
        importlib.reload(budgets)
        assert (budgets.examples(6), budgets.seconds(300)) == (1000, 0)
    importlib.reload(budgets)
