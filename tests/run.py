"""`make test`: every test that this machine can run.

Two groups run at the same time: tests with services in several processes, and, one test at a
time, those that start the whole product, those of pages in a browser and those of values. The
second group waits most of the time; its output is printed at the end. One pair of services serves
all of them: those that `DATABASE_URL` and `REDIS_URL` name, else embedded ones in a directory of
their own. Temporary files are in memory if there is enough of it. In CI (`CI=true`) a tier that
cannot run fails. Arguments are pytest's; with `--collect-only` the tests are listed.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from portal.embedded import launch
from portal.embedded.stopping import Stopped, postponed, stopping_signals
from tests import bytecode, scratch
from tests.programs import REQUIREMENTS
from tests.services import started

PROCESSES = "3"  # on two cores: some tests wait for other processes
PATIENCE = 30.0  # seconds that pytest gets to stop what its tests have started
POLL = 0.1  # seconds
NO_TESTS = 5  # the code of pytest where no test has these marks
Steps = Mapping[str, list[str]]
GROUPS: tuple[Steps, ...] = (
    {
        # others collect what is ignored; a path in the arguments is collected all the same
        "that run side by side": [
            *("-n", PROCESSES, "--dist", "worksteal"),
            *("-m", "not e2e and not browser and not unit"),
            *("--ignore=tests/e2e", "--ignore=tests/browser", "--ignore=tests/unit"),
        ]
    },
    {
        # without paths: nothing else is collected
        "of the whole product": ["-m", "e2e", "-o", "testpaths=tests/e2e"],
        "that run in a browser": ["-m", "browser", "-o", "testpaths=tests/browser"],
        # thousands in half a minute: several processes would each collect them
        "of values": ["-m", "unit", "-o", "testpaths=tests/unit"],
    },
)
LIST: tuple[Steps, ...] = ({"are there": []},)  # of all tests at once
ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Run all steps; returns the first code that is not 0."""
    print_tiers()
    is_list = "--collect-only" in arguments
    with scratch.in_memory(), bytecode.kept(), stopping_signals():
        try:
            environment = dict(os.environ) if is_list else services()
            codes = run(LIST if is_list else GROUPS, arguments, environment)
        except Stopped as stopped:
            print(f"stopped by {stopped}", file=sys.stderr)
            return 130
    return next((code for code in codes if code), 0)


def print_tiers() -> None:
    """Say what this machine cannot run, and why, before anything runs."""
    for mark, reason in REQUIREMENTS.items():
        why = reason()
        print(f"tests marked {mark}: {f'CANNOT RUN, {why}' if why else 'run'}")


def services() -> dict[str, str]:
    """The environment of the tests; starts what it does not name."""
    given = {name: os.environ.get(name) for name in ("DATABASE_URL", "REDIS_URL")}
    if not all(given.values()):
        home = Path(tempfile.mkdtemp(prefix="gpu-ledger-tests-"))
        places = started(home)
        given["DATABASE_URL"] = given["DATABASE_URL"] or places.database_url
        given["REDIS_URL"] = given["REDIS_URL"] or places.redis_url
    return {**os.environ, **{name: url for name, url in given.items() if url}}


@dataclass
class Group:
    """Steps that run one after the other.

    Attributes:
        steps: those that have not begun: name, and options of pytest.
        output: of its steps, if it is not the terminal.
        pytest: the step that runs.
    """

    steps: Iterator[tuple[str, list[str]]]
    output: IO[bytes] | None
    pytest: subprocess.Popen[bytes] | None = None

    def begin(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        """Start the next step, if there is one."""
        self.pytest = None
        for name, options in self.steps:
            title = f"\n--- tests {name}\n"
            if self.output:
                self.output.write(title.encode())
                self.output.flush()
            else:
                print(title, end="", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", *options, *arguments]
            self.pytest = subprocess.Popen(
                launch.tethered(command, last_signal=signal.SIGINT),
                cwd=ROOT,
                env=environment,
                stdout=self.output,
                stderr=self.output,
                start_new_session=True,
            )
            return

    def next(self, arguments: list[str], environment: Mapping[str, str]) -> int | None:
        """The code of a step that has ended, after the start of the next one."""
        if self.pytest is None or (code := self.pytest.poll()) is None:
            return None
        self.begin(arguments, environment)
        return 0 if code == NO_TESTS else code


def run(
    groups: tuple[Steps, ...], arguments: list[str], environment: Mapping[str, str]
) -> list[int]:
    """The codes of all steps; they end with us, and Ctrl-C lets them tidy up.

    The first group prints to the terminal; what the others print follows at the end.
    """
    codes = []
    beside = [name for steps in groups[1:] for name in steps]
    if beside:
        print(f"beside the others, printed at the end: tests {', '.join(beside)}")
    with ExitStack() as stack:
        later = [stack.enter_context(tempfile.TemporaryFile()) for _ in groups[1:]]
        running = [
            Group(iter(steps.items()), output)
            for steps, output in zip(groups, [None, *later], strict=True)
        ]
        try:
            with postponed():
                for group in running:
                    group.begin(arguments, environment)
            while any(group.pytest for group in running):
                with postponed():
                    codes += [
                        code
                        for group in running
                        if (code := group.next(arguments, environment)) is not None
                    ]
                time.sleep(POLL)
        except Stopped:
            stop([group.pytest for group in running if group.pytest])
            raise
        finally:
            for output in later:
                show(output)
    return codes


def show(output: IO[bytes]) -> None:
    """Print what a group has written."""
    output.seek(0)
    shutil.copyfileobj(output, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def stop(sessions: list[subprocess.Popen[bytes]]) -> None:
    """Let them end their fixtures, then end whatever is left of their groups."""
    for pytest in sessions:
        pytest.send_signal(signal.SIGINT)
    for pytest in sessions:
        with suppress(subprocess.TimeoutExpired):
            pytest.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(pytest.pid, signal.SIGKILL)
        pytest.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
