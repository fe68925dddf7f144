"""A short `make soak`: it kills, checks, ends green and leaves nothing behind.

Not here: that it finds faults (tests/integration/faults/test_conserved.py), and kills for longer
(`SOAK_SECONDS=120 make soak`).
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import processes_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 12
LONGEST_S = 800.0  # start, the kills, until nothing waits, stop

pytestmark = pytest.mark.timeout(900)


@contextmanager
def soak(folder: Path, seconds: int) -> Iterator[subprocess.Popen[str]]:
    """The command, with its homes in a folder; killed when the test is left early."""
    seen = os.environ | {"SOAK_SECONDS": str(seconds), "TMPDIR": str(folder)}
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.soak"],
        cwd=ROOT,
        env=seen,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets have no room for a long one."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        yield Path(name)


def test_a_short_one_with_kills_is_green_and_leaves_nothing(folder: Path) -> None:
    with soak(folder, SECONDS) as child:
        said, _ = child.communicate(timeout=LONGEST_S)
    assert child.returncode == 0, said
    found = re.search(r"(\d+) children and (\d+) workers killed, (\d+) checks", said)
    assert found, said
    children, workers, checks = map(int, found.groups())
    assert children >= 1
    assert workers >= 1
    assert checks >= 2
    assert "error 0 ms, 0 money" in said
    assert list(folder.iterdir()) == []
    assert not processes_of(str(folder))


def test_ctrl_c_while_it_starts_leaves_nothing(folder: Path) -> None:
    with soak(folder, SECONDS) as child:
        wait_until(lambda: bool(processes_of(str(folder))))
        assert_stopped(child, folder)


def test_ctrl_c_while_it_runs_leaves_nothing(folder: Path) -> None:
    with soak(folder, SECONDS) as child:
        assert child.stdout
        assert "begin" in child.stdout.readline()
        assert_stopped(child, folder)


def assert_stopped(child: subprocess.Popen[str], folder: Path) -> None:
    """It ends on Ctrl-C, with its code for that, and all that it started with it."""
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=LONGEST_S)
    assert child.returncode == 130, said
    assert list(folder.iterdir()) == []
    assert not processes_of(str(folder))
