"""Each package has a README of at most 30 lines; what it names exists, and each row says something.

Checked are paths and names in backticks, and links. Not here: whether a README says what is
true, and rules that it cites (`tests/unit/docs/test_rule_pages.py`).
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
APPS = ("portal", "accounting", "scheduler_view")
OTHERS = ("tests", "bench", "deploy")
WITHOUT = frozenset({"migrations", "commands"})  # Django's; `management` lists commands
MOST_LINES, MOST_OF_SUBJECT = 30, 20
SUFFIXES = (
    *(".py", ".md", ".html", ".css", ".js", ".sql", ".sh", ".toml", ".yaml", ".yml"),
)
_CODE = re.compile(r"`([^`]+)`")
_NOT_HERE = re.compile(r"^- Not here: .*(?:\n  .*)*", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SUBJECT = r"(?:accounting|scheduler_view)/\w+"
_DOTTED = re.compile(r"[a-z_]\w*(?:\.\w+)+")


def packages() -> list[str]:
    """Folders of the apps with modules or packages, and the other folders of code."""
    found = [
        init.parent
        for app in APPS
        for init in (ROOT / app).rglob("__init__.py")
        if init.parent.name not in WITHOUT and _has_modules(init.parent)
    ]
    return [*(path.relative_to(ROOT).as_posix() for path in sorted(found)), *OTHERS]


def _has_modules(folder: Path) -> bool:
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    return bool(modules) or any(folder.glob("*/__init__.py"))


def faults(folder: Path, text: str) -> list[str]:
    """What a README of a folder names or links that does not exist, and rows that say nothing."""
    wrong = []
    for line in text.splitlines():
        first_cell, said = _cells(line)
        rows = [folder / name for name in _CODE.findall(first_cell)]
        wrong += [
            f"`{path.name}` is not in the folder" for path in rows if not path.exists()
        ]
        wrong += _names_of_nothing(folder, rows, line)
        if rows and _says_nothing(said):
            wrong.append(
                f"{first_cell.strip()}: {said.strip()!r} says nothing, or is cut"
            )
    wrong += [
        f"the link to {target} leads nowhere"
        for target in _LINK.findall(text)
        if ":" not in target and not _leads_somewhere(folder, target)
    ]
    return [*wrong, *_not_here_but_here(folder, text)]


def _cells(line: str) -> tuple[str, str]:
    """The cells of a row of a table; empty for another line."""
    cells = line.split("|") if line.startswith("|") else []
    return (cells[1], cells[2]) if len(cells) > 2 else ("", "")


def _names_of_nothing(folder: Path, rows: list[Path], line: str) -> list[str]:
    """Names of a line that do not exist: in the folder, in those of its row, or from the root."""
    wrong = []
    for name in _CODE.findall(line):
        if _is_path(name):
            if not any((start / name).exists() for start in (folder, *rows, ROOT)):
                wrong.append(f"`{name}` does not exist")
        elif _DOTTED.fullmatch(name) and not _is_defined(folder, name):
            wrong.append(f"`{name}` is not defined")
    return wrong


def _says_nothing(said: str) -> bool:
    """Whether a row has fewer than three words, points elsewhere, or is cut in a sentence."""
    said = _CODE.sub("name", said).strip()
    is_cut = said.count("(") != said.count(")") or (
        re.search(r"\. [A-Z]", said) is not None and not said.endswith(".")
    )
    return len(said.split()) < 3 or is_cut or "first lines" in said


def _not_here_but_here(folder: Path, text: str) -> list[str]:
    """What a README sends its reader to elsewhere although it is a file of the same folder."""
    found = _NOT_HERE.search(text)
    names = _CODE.findall(found.group()) if found else []
    return [
        f"`{name}` is here"
        for name in names
        if name.endswith(".py")
        and folder in ((ROOT / name).parent, (folder / name).parent)
    ]


def _is_path(name: str) -> bool:
    """True for `holds/`, `issue.py`, `docs/access.md`; false for a URL path or a command."""
    is_one = " " not in name and not name.startswith("/")
    return is_one and name.endswith(("/", *SUFFIXES))


def _is_defined(folder: Path, name: str) -> bool:
    """Whether `module.name` is in a module of the folder, or a dotted path in an app."""
    module, _, rest = name.partition(".")
    if module in APPS:
        path = ROOT / name.replace(".", "/")
        return path.is_dir() or path.with_suffix(".py").is_file()
    return rest in _names_of(folder / f"{module}.py")


@cache
def _names_of(path: Path) -> frozenset[str]:
    """What a module defines at its top level; empty where there is none."""
    if not path.is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update(
                part.id
                for target in targets
                for part in ast.walk(target)
                if isinstance(part, ast.Name)
            )
    return frozenset(found)


def _leads_somewhere(folder: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = folder / name if name else folder / "README.md"
    if not path.exists():
        return False
    return not anchor or anchor in _anchors(path)


@cache
def _anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return frozenset(
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    )


@pytest.mark.parametrize("package", packages())
def test_a_package_has_a_short_readme(package: str) -> None:
    readme = ROOT / package / "README.md"
    assert readme.is_file()
    lines = readme.read_text().splitlines()
    assert len(lines) <= (
        MOST_OF_SUBJECT if re.fullmatch(_SUBJECT, package) else MOST_LINES
    )
    assert lines[0] == f"# {package}"


@pytest.mark.parametrize("package", packages())
def test_what_a_readme_names_exists(package: str) -> None:
    folder = ROOT / package
    assert faults(folder, (folder / "README.md").read_text()) == []


@pytest.mark.parametrize("package", [name for name in packages() if name not in OTHERS])
def test_a_readme_has_a_row_for_each_module(package: str) -> None:
    folder = ROOT / package
    text = (folder / "README.md").read_text()
    named = {
        name for line in text.splitlines() for name in _CODE.findall(_cells(line)[0])
    }
    modules = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    folders = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    if package.endswith("/management"):
        folders -= {"commands/"}  # its README lists commands
    assert (modules | folders) - {"migrations/"} - named == set()


def test_subjects_are_described_alike() -> None:
    """The table of docs/architecture.md, and the READMEs of the apps."""
    row = re.compile(r"^\| `([\w/]+?)/?` \| (.*) \|$", re.MULTILINE)
    table = dict(row.findall((ROOT / "docs/architecture.md").read_text()))
    subjects = [name for name in packages() if re.fullmatch(_SUBJECT, name)]
    listed = [name for name in subjects if not name.endswith("/management")]
    for app in ("accounting", "scheduler_view"):
        said = dict(row.findall((ROOT / app / "README.md").read_text()))
        here = {name: table.get(name) for name in listed if name.startswith(f"{app}/")}
        assert here == {name: said[name.partition("/")[2]] for name in here}
        assert here


# --- the checks can fail ------------------------------------------------------------------


def test_packages_are_found() -> None:
    found = packages()
    assert {"portal/demo", "accounting/core", "scheduler_view/queues"} <= {*found}
    assert not any(name.endswith(("migrations", "commands")) for name in found)


@pytest.mark.parametrize(
    "text",
    [
        "| `no_such_module.py` | in a table, too |",
        "| `no_such_folder/` `interval.py` | in a table, too |",
        "| `interval.py` | intervals |",
        "| `interval.py` | See the first lines of it. |",
        "| `interval.py` | Periods of time, in milliseconds (UTC, |",
        "| `interval.py` | Periods of time. All of them are half- |",
        "| `interval.py` | what `no_such_module.py` has, too |",
        "- Not here: rounding (`accounting/core/rounding.py`).",
        "- Not here: prices\n  (`accounting/prices/`); rounding (`rounding.py`).",
        "See `no_such_module.py`.",
        "See `accounting/no_such_folder/`.",
        "Call `interval.no_such_function`.",
        "Call `no_such_module.union`.",
        "Above `accounting.no_such_package`.",
        "[N1](../../docs/no_such_page.md#n1)",
        "[N1](../../docs/rules.md#n99)",
    ],
)
def test_what_does_not_exist_is_found(text: str) -> None:
    assert len(faults(ROOT / "accounting/core", text)) >= 1


def test_what_exists_is_not_a_fault() -> None:
    text = """
| `interval.py` `rounding.py` | `interval.union`, `rounding.half_even`, `interval.WINDOW_MS` |
| `__init__.py` | such as `/healthz`, `manage.py report`, `nvidia.com/gpu`, `[start, end)` |
Below `accounting.metering.rules`; see `accounting/metering/tasks/` and
[N1](../../docs/rules.md#n1), [decisions](../../docs/decisions), [a site](https://example.org/page).
"""
    assert faults(ROOT / "accounting/core", text) == []
