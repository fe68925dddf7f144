"""Temporary folders of killed processes are removed by the next one; others stay.

Not here: what is written into them (`tests/integration/commands/test_import.py`).
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from accounting.kit import work_folders
from accounting.kit.work_folders import YOUNG_S, remove_abandoned, work_folder

HOLDER = """
import signal
from accounting.kit.work_folders import work_folder
with work_folder("import") as folder:
    (folder / "rows").write_text("x")
    print(folder, flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def older(path: Path) -> None:
    at = path.stat().st_mtime - YOUNG_S - 1
    os.utime(path, (at, at))


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(
    folder: Path,
) -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        older(left)
        assert remove_abandoned() == []  # its process lives
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (left / "rows").exists()
    with work_folder("import") as own:
        assert list(folder.iterdir()) == [own]
    assert list(folder.iterdir()) == []


def test_a_new_folder_and_others_stay(folder: Path) -> None:
    new = folder / f"{work_folders.PREFIX}import-new"
    other = folder / "gpu-ledger-else"
    for path in (new, other):
        path.mkdir()
    older(other)
    assert remove_abandoned() == []
    older(new)
    assert remove_abandoned() == [new]
