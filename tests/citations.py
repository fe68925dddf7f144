"""Numbered rules of docs: what their pages say, and who cites them.

A rule has a heading of its own (`### N12`) on the page of its letter, and lines that name its
code and its tests:

    - Code: `accounting/metering/rules/holds/hold.py`
    - Test: `tests/unit/metering/holds/test_hold.py::test_absence_ends_...`
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {  # by the letter of a number
    "N": "docs/rules.md",
    "M": "docs/money.md",
    "S": "docs/scheduling.md",
    "R": "docs/alerts.md",
    "T": "docs/traps.md",
    "I": "docs/invariants.md",
    "P": "docs/performance.md",
    "K": "docs/performance.md",
}
_LETTERS = "IKMNPRST"
_FOLDERS = (
    *("portal", "accounting", "scheduler_view"),
    *("templates", "static", "tests", "bench", "deploy", "docs"),
)
_SUFFIXES = frozenset(
    {".py", ".md", ".html", ".css", ".js", ".sql", ".sh", ".toml", ".yaml", ".yml"}
)
_GPU_MODEL = re.compile(r"\b(?:Tesla|NVIDIA)[- ][A-Z]\d+\b")
_STORE = re.compile(r"\bS3(?:-compatible| servers?)\b")
_NUMBER = re.compile(rf"(?<!\w)([{_LETTERS}])([1-9]\d?)(?:[a-e]\d?)?(?!\w)")
_RANGE = re.compile(
    rf"(?<!\w)([{_LETTERS}])([1-9]\d?)(?:-|\N{{EN DASH}}| to )\1([1-9]\d?)(?!\w)"
)
_NAMED = re.compile(r"rules(?:\.md)?,? \"(\w+)\"")
_PAGE = re.compile(r"(?<![\w./<*{-])((?:[\w-]+/)*[\w-]+\.md)\b")
_DECISION = re.compile(r"(?:docs/decisions/0*|\b[Dd]ecisions? )([1-9]\d*)\b")


@dataclass(frozen=True, slots=True)
class Rule:
    """One numbered rule of a page.

    Attributes:
        name: `N12`, or a word such as `MIG`.
        code: paths from the root of the repository.
        tests: `path::name`.
        is_built: false where the page says that it is not.
    """

    name: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    is_built: bool


def rules_of(text: str) -> list[Rule]:
    """The rules of a page, in its order: one for each heading of the third level."""
    found = []
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        lines = re.findall(r"^- (Code|Test): (.+)$", body, re.MULTILINE)
        named = [(kind, re.findall(r"`([^`]+)`", line)) for kind, line in lines]
        found.append(
            Rule(
                name.strip(),
                tuple(
                    path for kind, paths in named if kind == "Code" for path in paths
                ),
                tuple(
                    path for kind, paths in named if kind == "Test" for path in paths
                ),
                "\n- Not built: " not in body,
            )
        )
    return found


@cache
def rules() -> dict[str, list[Rule]]:
    """The rules of every page, by the path of the page."""
    return {
        page: rules_of((ROOT / page).read_text()) for page in sorted({*PAGES.values()})
    }


def known() -> set[str]:
    """What may be cited: `N12`, and the words of the rules in lower case."""
    pages = rules()
    numbers = {
        rule.name
        for letter, page in PAGES.items()
        for rule in pages[page]
        if rule.name.startswith(letter)
    }
    return numbers | {rule.name.lower() for rule in pages[PAGES["N"]]}


def cited(text: str) -> set[str]:
    """The rules that a text cites: numbers, all of a range, and words after `rules.md`."""
    text = _STORE.sub("", _GPU_MODEL.sub("", text))
    found = {f"{letter}{number}" for letter, number in _NUMBER.findall(text)}
    for letter, first, last in _RANGE.findall(text):
        found.update(f"{letter}{n}" for n in range(int(first), int(last) + 1))
    return found | {word.lower() for word in _NAMED.findall(text)}


def pages_named(text: str) -> set[str]:
    """The names of Markdown pages in a text."""
    return set(_PAGE.findall(text))


def decisions_named(text: str) -> set[int]:
    """The numbers of decision records in a text."""
    return {int(number) for number in _DECISION.findall(text)}


@cache
def texts() -> dict[str, str]:
    """Every text of the project that is ours, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in sorted(_paths())
        if "vendor" not in path.parts
    }


def _paths() -> Iterator[Path]:
    for folder in _FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in _SUFFIXES and path.is_file():
                yield path
    for pattern in ("*.md", "*.toml", "*.yml", "Makefile", "Dockerfile", ".ci/*"):
        yield from ROOT.glob(pattern)


@cache
def names_of_tests(path: str) -> set[str]:
    """The test functions of a module, without running it; empty where there is none."""
    if not (ROOT / path).is_file():
        return set()
    tree = ast.parse((ROOT / path).read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
