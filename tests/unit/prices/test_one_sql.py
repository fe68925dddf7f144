"""States of time are added, and multiplied by a price, by the SQL of one package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HOME = "sql"  # the folder of this role, in any subject
_COLUMN = r"(?:[\w{}]+\.)?[\w{}]*_ms\b"
ADDED = re.compile(
    rf"busy_ms\s*\+\s*{_COLUMN}\s*\+"  # busy_ms + idle_ms + unknown_ms
    r"""|["'] \+ ["']\.join\([^)]*_ms"""  # " + ".join(f"u.{state}_ms" for ...)
    r"""|["'] \+ ["']\.join\(\s*STATE_COLUMNS"""
    rf"|sum\((?:\w+\.)?\{{\w+\}}_ms\)(?:::bigint)? AS \{{"  # sum(u.{state}_ms) AS {state}_ms
)
PRICED = re.compile(rf"(?:{_COLUMN}|_MS\}})\)?\s*\*\s*\(?(?:\w+\.)?(?:gpu_)?rate\b")
# What looks for one price of a time, or compares how much two of them set.
MATCHED = re.compile(r"cluster_id IS NOT NULL\)::int|profile <> ''\)::int")


def added(text: str) -> bool:
    return ADDED.search(re.sub(r"\s+", " ", text)) is not None


def priced(text: str) -> bool:
    return PRICED.search(re.sub(r"\s+", " ", text)) is not None


def test_the_scan_sees_the_texts_that_there_were() -> None:
    assert added("sum(busy_ms + idle_ms\n    + unknown_ms)")
    assert added("(u.busy_ms + u.idle_ms + u.unknown_ms)")
    assert added("""" + ".join(f"u.{state}_ms" for state in STATES)""")
    assert added('" + ".join(STATE_COLUMNS)')
    assert added('f"sum(w.{state}_ms)::bigint AS {state}_ms"')
    assert not added("sum(u.idle_ms) DESC")
    assert priced("sum(u.idle_ms * u.rate)")
    assert priced("{_HELD_MS} * (u.gpu_rate - u.rate)")
    assert priced("(busy_ms + idle_ms) * (gpu_rate - rate)")
    assert not priced("u.idle_ms, u.rate")
    assert MATCHED.search("(p.cluster_id IS NOT NULL)::int + (p.profile <> '')::int")


@pytest.mark.timeout(60)  # reads every module of the product
@pytest.mark.parametrize("is_copy", [added, priced, MATCHED.search])
def test_no_other_module_has_a_copy(is_copy: object) -> None:
    assert callable(is_copy)
    found = {
        path.relative_to(ROOT).as_posix()
        for app in ("accounting", "scheduler_view", "portal")
        for path in (ROOT / app).rglob("*.py")
        if path.parent.name != HOME and is_copy(path.read_text())
    }
    assert found <= {
        "accounting/core/ledger_line.py",  # one line of Python, all its states
        "accounting/core/efficiency.py",  # the same sum in Python
    }
