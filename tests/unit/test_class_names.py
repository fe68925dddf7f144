"""A class name stands for one thing in the whole product; exceptions have a reason here."""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("portal", "accounting", "scheduler_view")

STAYS: Mapping[str, str] = {  # why a name may be defined twice
    "Command": "Django's name for the class of a management command",
    "Meta": "Django's name for the options of a model",
    "Migration": "Django's name for the class of a migration",
}


def classes_of(text: str) -> list[str]:
    """The names of the classes that a module defines, nested ones included."""
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    ]


def defined_twice(texts: Iterable[str]) -> set[str]:
    """Names that several classes of these modules have."""
    counts = Counter(name for text in texts for name in classes_of(text))
    return {name for name, count in counts.items() if count > 1}


@pytest.mark.timeout(60)  # parses every module of the product
def test_a_class_name_stands_for_one_thing() -> None:
    paths = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    found = defined_twice(path.read_text() for path in paths)
    new = found - STAYS.keys()
    assert new == set(), "defined twice: choose another name"
    gone = STAYS.keys() - found
    assert gone == set(), "no longer defined twice: take it out of the list"


def test_names_defined_twice_are_found() -> None:
    one = "class A: ...\nclass B:\n    class Meta: ...\n"
    other = "def f():\n    class A: ...\nclass C:\n    class Meta: ...\n"
    assert defined_twice([one, other]) == {"A", "Meta"}
    assert defined_twice([one]) == set()
