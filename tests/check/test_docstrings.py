"""Docstrings name parameters, fields and exceptions that exist.

A rename of a parameter, field or exception leaves its old name in docstrings. Nothing else fails.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = {"CommandError", "Http404", "ProgrammingError", "ValidationError"}
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
_ITEM = re.compile(r" {4}([\w*][\w*., ]*): ")


def modules() -> dict[Path, ast.Module]:
    """The syntax tree of each module of the product, by path."""
    paths = [
        path
        for folder in ("accounting", "scheduler_view", "portal", "bench", "deploy")
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    ]
    return {path: ast.parse(path.read_text()) for path in sorted(paths)}


def items(docstring: str) -> Iterator[tuple[str, str]]:
    """(section, name) of each item of a docstring in Google's format."""
    section = ""
    for line in docstring.splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif line and not line.startswith(" "):
            section = ""
        elif section and (item := _ITEM.match(line)):
            for name in item[1].split(","):
                yield section, name.strip(" *")


def names_of(node: ast.ClassDef | ast.FunctionDef) -> set[str]:
    """Parameters of a function; fields, methods and constructor parameters of a class."""
    if isinstance(node, ast.FunctionDef):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        extra = [one for one in (given.vararg, given.kwarg) if one]
        return {one.arg for one in [*every, *extra]}
    found: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            found.add(ast.unparse(part.target))
        elif isinstance(part, ast.Assign):
            found |= {ast.unparse(target) for target in part.targets}
        elif isinstance(part, ast.FunctionDef):
            found.add(part.name)
            if part.name == "__init__":
                found |= names_of(part)
                found |= set(re.findall(r"self\.(\w+)", ast.unparse(part)))
    return found


def stale(tree: ast.AST, exceptions: set[str]) -> Iterator[str]:
    """Items of docstrings whose name does not exist, as `function: name`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        names = names_of(node)
        for section, name in items(ast.get_docstring(node) or ""):
            if section in ("Returns", "Yields") or " " in name:
                continue
            known = exceptions if section == "Raises" else names
            if name.split(".")[-1] not in known:
                yield f"{node.name}: {name}"


def test_docstrings_name_what_exists() -> None:
    trees = modules()
    classes = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    raised = classes | FRAMEWORKS | set(dir(builtins)) | {"CalledProcessError"}
    # msgspec's and REST framework's own errors, as documented for their callers
    raised |= {"DecodeError", "ParseError"}
    found = [
        f"{path.relative_to(ROOT)}: {one}"
        for path, tree in trees.items()
        for one in stale(tree, raised)
    ]
    assert not found, "\n".join(found)


def test_a_stale_name_is_found() -> None:
    source = '''
def f(a):
    """One line.

    Args:
        a: it exists.
        b: it does not.

    Raises:
        GoneError: renamed.
    """
'''
    assert list(stale(ast.parse(source), {"ValueError"})) == ["f: b", "f: GoneError"]
