"""The locks hold what pyproject.toml asks for, by hash, from no particular index."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = [
    *PROJECT["project"]["dependencies"],
    *(
        line
        for extra in ("demo", "parquet", "xlsx")  # files of the demo and of the image
        for line in PROJECT["project"]["optional-dependencies"][extra]
    ),
]
GROUPS = [line for group in PROJECT["dependency-groups"].values() for line in group]


def pins(name: str) -> dict[str, str]:
    """Versions by normalised name."""
    text = (ROOT / name).read_text()
    found = re.findall(r"^([a-z0-9._-]+)==(\S+) (?:; .* )?\\$", text, re.MULTILINE)
    return dict(found)


def wanted(line: str) -> tuple[str, str]:
    """Name without extras, and version, of a line such as `a[b]==1.0`."""
    name, version = line.split("==")
    name = name.split("[")[0].strip().lower()
    return re.sub(r"[-_.]+", "-", name), version


@pytest.mark.parametrize(
    ("lock", "lines"),
    [("requirements.txt", RUNTIME), ("requirements-dev.txt", [*RUNTIME, *GROUPS])],
)
def test_lock_agrees_with_pyproject(lock: str, lines: list[str]) -> None:
    locked = pins(lock)
    asked = dict(map(wanted, lines))
    assert {name: locked.get(name) for name in asked} == asked, "run `make lock`"


def test_development_lock_extends_the_runtime_lock() -> None:
    runtime, development = pins("requirements.txt"), pins("requirements-dev.txt")
    assert {name: development.get(name) for name in runtime} == runtime


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_lock_holds_for_every_python_that_is_supported(lock: str) -> None:
    """Debian 12 has Python 3.11.2, which needs a package that newer ones do not."""
    needs = re.findall(
        r"^([a-z0-9-]+)==\S+ ; (.*) \\$", (ROOT / lock).read_text(), re.MULTILINE
    )
    assert dict(needs)["async-timeout"] == "python_full_version < '3.11.3'"
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.13"


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_lock_has_hashes_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text.split("make lock\n")[1].strip())
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


def test_every_dependency_says_what_it_is_for() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("dependencies = [")[1].split("\n]")[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert len(lines) == len(PROJECT["project"]["dependencies"])
    assert all("# " in line for line in lines)
