"""What `make test` tries a part of, `make soak` tries with any number of examples, or whole."""

import importlib
import re
from pathlib import Path

import pytest

from tests import budgets

TESTS = Path(__file__).resolve().parents[1]
MAKEFILE = TESTS.parent / "Makefile"


@pytest.mark.parametrize(
    ("variable", "budget"), [("DRAWN", "examples"), ("SIZED", "size")]
)
def test_soak_runs_every_file_that_has_a_budget(variable: str, budget: str) -> None:
    lines = MAKEFILE.read_text().replace("\\\n", " ").splitlines()
    [listed] = [line for line in lines if line.startswith(f"{variable} := ")]
    with_budget = {
        f"tests/{path.relative_to(TESTS)}"
        for path in TESTS.rglob("test_*.py")
        if re.search(
            rf"^from tests.budgets import .*\b{budget}\b",
            path.read_text(),
            re.MULTILINE,
        )
    }
    assert set(listed.split()[2:]) == with_budget


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


def test_a_test_of_size_takes_all_of_it_where_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.delenv("FULL_SIZE", raising=False)
        importlib.reload(budgets)
        assert budgets.size(3, full=80) == 3
        patch.setenv("FULL_SIZE", "1")
        importlib.reload(budgets)
        assert budgets.size(3, full=80) == 80
    importlib.reload(budgets)
