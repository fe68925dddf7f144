"""Temporary files of a run are in memory where that is possible, and are gone after it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.scratch import (
    MEMORY,
    NAMED,
    _remove_left_over,
    in_memory,
    left_of_limits,
    on_disk,
)

SHOW = [sys.executable, "-S", "-c", "import tempfile; print(tempfile.gettempdir())"]


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder where nobody has named one."""
    monkeypatch.delenv(NAMED, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tempfile.gettempdir()


def test_this_process_and_those_that_it_starts_use_a_folder_that_is_deleted(
    usual: str, tmp_path: Path
) -> None:
    with in_memory(tmp_path, needed=0):
        [folder] = tmp_path.iterdir()
        assert tempfile.gettempdir() == str(folder)
        shown = subprocess.run(SHOW, capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == str(folder)
        assert folder.stat().st_mode & 0o7777 == 0o1777
        (folder / "left").write_text("")
    assert list(tmp_path.iterdir()) == []
    assert tempfile.gettempdir() == usual
    assert NAMED not in os.environ


@pytest.mark.parametrize("name", ["", "missing"])
def test_without_enough_memory_nothing_changes(
    usual: str, tmp_path: Path, name: str
) -> None:
    needed = 1 if name else 10**18
    with in_memory(tmp_path / name, needed):
        assert tempfile.gettempdir() == usual
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_a_killed_run_is_removed_by_the_next(
    usual: str, tmp_path: Path
) -> None:
    del usual
    for name in ("ledger-tests-old", "ledger-tests-new", "of-others"):
        (tmp_path / name).mkdir()
    with in_memory(tmp_path, needed=0):
        for path in tmp_path.iterdir():
            if path.name != "ledger-tests-new":
                os.utime(path, (0, 0))
        _remove_left_over(tmp_path)
        found = {path.name for path in tmp_path.iterdir()}
        own = Path(tempfile.gettempdir()).name
        assert found == {own, "ledger-tests-new", "of-others"}


def test_a_folder_that_is_named_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAMED, "/named")
    with in_memory(tmp_path, needed=0):
        assert os.environ[NAMED] == "/named"
    assert list(tmp_path.iterdir()) == []


def test_what_needs_a_disk_is_not_in_memory(
    usual: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not on_disk().is_relative_to(MEMORY)
    assert on_disk() == Path(usual)
    monkeypatch.setattr(tempfile, "tempdir", str(MEMORY / "ledger-tests-1"))
    assert not on_disk().is_relative_to(MEMORY)


def test_limits_of_a_container_count_where_there_are_any(tmp_path: Path) -> None:
    limit, used, none = (tmp_path / name for name in ("limit", "used", "none"))
    limit.write_text("4000\n")
    used.write_text("1500\n")
    none.write_text("max\n")
    limits = {str(limit): str(used), str(none): str(used), "/missing": str(used)}
    assert left_of_limits(limits) == [2500]
