"""`make test` runs tests with a small budget; `make soak` runs each of them with a larger one."""

import re
from pathlib import Path

import pytest

from tests import budgets
from tests.unit.anew import built_anew

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
    monkeypatch.delenv("EXAMPLES", raising=False)
    usual = built_anew(budgets)
    assert (usual.examples(6), usual.seconds(300)) == (6, 300)
    monkeypatch.setenv("EXAMPLES", "1000")
    wanted = built_anew(budgets)
    assert (wanted.examples(6), wanted.seconds(300)) == (1000, 0)


def test_full_size_is_what_the_environment_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FULL_SIZE", raising=False)
    assert built_anew(budgets).size(3, full=80) == 3
    monkeypatch.setenv("FULL_SIZE", "1")
    assert built_anew(budgets).size(3, full=80) == 80
