"""The supervisor: a command that dies returns, all of them end, whatever happens."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.embedded import supervisor as module
from portal.embedded.errors import ServicesError
from portal.embedded.supervisor import Supervisor, child_environment
from tests.processes import processes_of, wait_until

ROOT = Path(__file__).resolve().parents[3]
PARENT = """
import sys
from pathlib import Path
from portal.embedded.stopping import Stopped, stopping_signals
from portal.embedded.supervisor import Supervisor, child_environment
supervisor = Supervisor(child_environment(), Path(sys.argv[1]))
with stopping_signals():
    try:
        supervisor.start("forks", ["/bin/sh", "-c", sys.argv[2]])
        print("up", flush=True)
        exec(sys.argv[3])
        supervisor.watch()
    except Stopped as stopped:
        supervisor.stop()
        print(f"stopped by {stopped}", flush=True)
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor that keeps what it says."""
    said: list[str] = []
    made = Supervisor(child_environment(), tmp_path, said.append)
    yield made
    made.stop()
    assert not processes_of(str(tmp_path))


def sleeper(place: Path) -> list[str]:
    """A command that is found by the place in its command line."""
    return [sys.executable, "-c", "import time; time.sleep(600)", str(place)]


def test_command_that_dies_starts_again(supervisor: Supervisor, tmp_path: Path) -> None:
    child = supervisor.start("sleeper", sleeper(tmp_path))
    assert child.process is not None
    first = child.process.pid
    os.kill(first, signal.SIGKILL)
    supervisor.watch(seconds=1.5)
    assert child.process is not None
    assert child.process.pid != first
    assert child.process.poll() is None


def test_command_that_always_dies_is_given_up(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)
    code = "print('no such thing'); raise SystemExit(7)"
    supervisor.start("broken", [sys.executable, "-c", code])
    with pytest.raises(ServicesError, match=r"broken ended 5 times.* 7(.|\n)*no such"):
        supervisor.watch(seconds=30)


def test_stop_ends_what_a_command_has_started(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    shell = f"{sys.executable} -c 'import time; time.sleep(600)' {tmp_path} & wait"
    supervisor.start("forks", ["/bin/sh", "-c", shell])
    wait_until(lambda: len(processes_of(str(tmp_path))) == 2)
    supervisor.stop()
    assert not processes_of(str(tmp_path))


def test_command_that_ignores_the_wish_is_killed(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    ready = tmp_path / "ready"
    supervisor.start("deaf", ["/bin/sh", "-c", f"trap '' TERM; >{ready}; sleep 600"])
    wait_until(ready.exists)
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_everything(tmp_path: Path, number: signal.Signals) -> None:
    shell = f"exec {sys.executable} -c 'import time; time.sleep(600)' {tmp_path}/x"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), shell, ""],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "up\n"
    parent.send_signal(number)
    answer, _ = parent.communicate(timeout=30)
    assert answer == f"stopped by {number.name}\n"
    assert not processes_of(str(tmp_path))


IN_A_DESTRUCTOR = """
import os, signal
class Swallowing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
Swallowing()
"""
WHILE_A_LOCK_IS_HELD = """
import os, signal
def profile(frame, event, function):
    if event == "c_return" and frame.f_code.co_name == "_internal_poll":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGTERM)
sys.setprofile(profile)
"""


@pytest.mark.parametrize("moment", [IN_A_DESTRUCTOR, WHILE_A_LOCK_IS_HELD])
def test_a_signal_at_a_bad_moment_ends_everything(tmp_path: Path, moment: str) -> None:
    shell = f"exec {sys.executable} -c 'import time; time.sleep(600)' {tmp_path}/x"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), shell, moment],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
    ) as parent:
        try:
            answer, _ = parent.communicate(timeout=60)
        finally:
            parent.kill()
    assert answer == "up\nstopped by SIGTERM\n"
    assert not processes_of(str(tmp_path))


def test_commands_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    shell = f"exec {sys.executable} -c 'import time; time.sleep(600)' {tmp_path}/x"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), shell, ""],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "up\n"
    runs = f"{sys.executable} -c import time"  # past setpriv, which makes the wish
    wait_until(
        lambda: any(c.startswith(runs) for c in processes_of(str(tmp_path)).values())
    )
    parent.kill()
    parent.communicate(timeout=30)
    wait_until(lambda: not processes_of(str(tmp_path)))
