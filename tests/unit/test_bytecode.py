"""Compiled modules are shared by the processes of a run, and are gone after it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bytecode import FOLDER, REFUSED, kept


def import_it(folder: Path) -> None:
    """Import the module of a folder in a process that begins now."""
    command = [sys.executable, "-S", "-c", "import some_module"]
    subprocess.run(command, cwd=folder, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A module that nobody has compiled."""
    (tmp_path / "some_module.py").write_text("NUMBER = 1\n")
    return tmp_path


def test_processes_share_compiled_modules_where_python_may_not_write_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REFUSED, "1")
    monkeypatch.delenv(FOLDER, raising=False)
    with kept():
        cache = Path(os.environ[FOLDER])
        import_it(folder)
        assert [
            path.name.split(".")[0] for path in cache.rglob("some_module*.pyc")
        ] == ["some_module"]
        assert not (folder / "__pycache__").exists()
    assert not cache.exists()
    assert os.environ[REFUSED] == "1"
    assert FOLDER not in os.environ


def test_a_folder_that_is_named_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REFUSED, "1")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with kept():
        assert os.environ[FOLDER] == str(tmp_path)
        assert os.environ[REFUSED] == "1"
