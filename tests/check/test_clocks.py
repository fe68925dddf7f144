"""No test module reads a clock while it is imported.

pytest imports all modules before it runs the first test. A time that was read then can be as old as
the whole run is long when a test of the module compares it with a page.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CLOCKS = {
    *("timezone.now", "timezone.localtime", "timezone.localdate"),
    *("datetime.now", "datetime.today", "date.today"),
    *("time.time", "time.monotonic"),
}


def test_no_module_reads_a_clock_when_it_is_imported() -> None:
    paths = sorted(TESTS.rglob("*.py"))
    assert len(paths) > 500
    read = {
        f"{path.relative_to(TESTS.parent)}:{call.lineno}"
        for path in paths
        for call in run_at_import(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in CLOCKS
    }
    assert read == set()


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but the bodies of functions, which run later than their defaults and decorators."""
    yield node
    for name, value in ast.iter_fields(node):
        is_later = name == "body" and isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        )
        if not is_later:
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST):
                    yield from run_at_import(child)
