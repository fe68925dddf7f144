"""Processes of the product that begin in milliseconds, forked from one that is warm.

`warm` keeps one for each environment. `Warm` starts
`python -m tests.integration.faults.forks`, which imports the product and runs nothing of it: it
has no session with the database, and forks whenever it is told to. The child runs one command
as `manage.py` does, with its own sessions, its own environment (so its own failpoint), and dies
by what kills any process. Only the time to import is saved.
"""

import atexit
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[3]
LONGEST_S = 120.0  # of one command; it takes a tenth of a second where nothing is wrong
FAILPOINT = "GPU_LEDGER_FAILPOINT"
OF_ONE = {FAILPOINT, "PYTEST_CURRENT_TEST"}  # differ from one command to the next
STREAMS = ("stdout", "stderr")
KEPT = 3  # warm processes at once; the oldest makes room


class Ended(NamedTuple):
    """How a command ended: its exit status, negative for a signal, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class Running(NamedTuple):
    """A command that runs: its process, and the folder of what it prints."""

    pid: int
    output: Path


class Warm:
    """One warm process, in the environment that every command begins with."""

    def __init__(self, seen: dict[str, str]) -> None:
        """Start it; it is ready when the first command is."""
        self.folder = tempfile.TemporaryDirectory(prefix="gpu-ledger-forks-")
        self.count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.faults.forks"],
            cwd=ROOT,
            env=seen,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def start(self, *words: str | Path, failpoint: str = "") -> Running:
        """Begin a command in a process of its own."""
        self.count += 1
        output = Path(self.folder.name) / str(self.count)
        output.mkdir()
        order = {
            "words": ["manage.py", *map(str, words)],
            "environment": {FAILPOINT: failpoint},
            "output": str(output),
        }
        return Running(self._ask(order), output)

    def wait(self, child: Running) -> Ended:
        """Wait until a command has ended.

        Raises:
            TimeoutError: it did not, and was killed.
        """
        try:
            status = self._ask({"wait": child.pid})
        except TimeoutError:
            os.kill(
                child.pid, signal.SIGKILL
            )  # not reaped yet: the pid is still its own
            raise
        texts = [(child.output / name).read_text() for name in STREAMS]
        shutil.rmtree(child.output)
        return Ended(status, *texts)

    def run(self, *words: str | Path, failpoint: str = "") -> Ended:
        """Run a command to its end."""
        return self.wait(self.start(*words, failpoint=failpoint))

    def close(self) -> None:
        """End the warm process, and with it what it started."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=LONGEST_S)
        finally:
            self.process.kill()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.folder.cleanup()

    def _ask(self, order: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], LONGEST_S)[0]:
            raise TimeoutError(f"no answer in {LONGEST_S:.0f} s to {order}")
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the warm process has died: its words are above")
        return int(answer)


_warm: dict[frozenset[tuple[str, str]], Warm] = {}


def warm(seen: dict[str, str]) -> Warm:
    """The warm process of an environment, whatever its failpoint."""
    base = {name: value for name, value in seen.items() if name not in OF_ONE}
    key = frozenset(base.items())
    if key not in _warm:
        while len(_warm) >= KEPT:
            _warm.pop(next(iter(_warm))).close()
        _warm[key] = Warm(base)
    return _warm[key]


@atexit.register
def _close_all() -> None:
    while _warm:
        _warm.popitem()[1].close()


# --- the warm process ----------------------------------------------------------------


def _serve() -> None:
    """Fork a child for each order, and tell how it ended when that is asked."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever prints must not answer
    _import_all()
    children: set[int] = set()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            children.discard(order["wait"])
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if not answer:
                os.close(answers)
                _become(order)
            children.add(answer)
        os.write(answers, b"%d\n" % answer)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _import_all() -> None:
    """All that a command imports; without a session, which a child would share."""
    from portal.commands import run  # noqa: PLC0415  # nothing of Django in the tests' own

    run(["manage.py", "check"])
    from django.db import connection  # noqa: PLC0415  # after its settings are there
    from django.db.migrations.loader import MigrationLoader  # noqa: PLC0415  # after its settings are there

    import accounting.metering.commands.import_metrics  # noqa: F401, PLC0415
    import scheduler_view.changes.commands.change_set  # noqa: F401, PLC0415

    MigrationLoader(None)  # every command looks whether it must migrate
    assert connection.connection is None


def _become(order: dict[str, Any]) -> NoReturn:
    """Be the process that runs one command."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in enumerate(STREAMS, start=1):
            path = Path(order["output"]) / name
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
        os.environ.update(order["environment"])
        from accounting.kit import failpoints  # noqa: PLC0415  # after its settings are there

        importlib.reload(failpoints)  # read the environment, as it does when imported
        status = _run(order["words"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(words: Sequence[str]) -> int:
    """`manage.py`, with the exit status that the interpreter would give."""
    from django.db import connections  # noqa: PLC0415  # after its settings are there

    from portal.commands import run  # noqa: PLC0415  # after its settings are there

    try:
        status = run(words)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    connections.close_all()
    return status


if __name__ == "__main__":
    _serve()
