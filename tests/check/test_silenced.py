"""A finding of ruff or mypy that is silenced in the product has its reason beside it.

`RUF100` and `warn_unused_ignores` already report marks that silence nothing.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounting", "scheduler_view", "portal")
MARK = re.compile(r"# (?:noqa\b|type: ignore\b)")
CODES = r"# (?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])"
EXPLAINED = re.compile(rf"{CODES}(?:  {CODES})*  # \S.*$")


def test_each_mark_has_codes_and_a_reason() -> None:
    marks = [
        (f"{path.relative_to(ROOT)}:{number}", line[match.start() :])
        for app in APPS
        for path in sorted((ROOT / app).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := MARK.search(line))
    ]
    assert len(marks) > 50
    assert [one for one in marks if not EXPLAINED.match(one[1])] == []
