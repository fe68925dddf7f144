"""Runs several long-lived commands together; a command that dies is restarted.

Each command is the leader of its own process group and is tethered to this process: it
ends with it, even after `kill -9`.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from portal.embedded import launch
from portal.embedded.errors import ServicesError
from portal.embedded.stopping import postponed

POLL = 0.2  # seconds
PATIENCE = 10.0  # seconds from stopping a command until it is killed
LAST_MOMENT = 2.0  # seconds from SIGKILL until no process of a group is left
FIRST_PAUSE = 0.5  # seconds before a command that died is restarted; then doubled
LONGEST_PAUSE = 10.0  # seconds
STABLE = 30.0  # seconds of running after which an earlier death is forgotten
MANY_DEATHS = 5  # in a row: restarting does not help

ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Child:
    """One command.

    Attributes:
        name: for messages and for its log.
        command: with its arguments.
        log: file of its output.
        keep: open descriptors that it inherits, such as a socket.
        deaths: number of consecutive deaths.
    """

    name: str
    command: Sequence[str]
    log: Path
    keep: Sequence[int] = ()
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    again_at: float = 0.0
    deaths: int = 0

    def start(self, environment: Mapping[str, str]) -> None:
        """Start or restart it."""
        command = launch.tethered(self.command, last_signal=signal.SIGTERM)
        self.started_at = time.monotonic()
        self.process = launch.start(
            command,
            log=self.log,
            directory=ROOT,
            environment=environment,
            keep=self.keep,
        )

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the command and all its child processes."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def wait_for_group(self) -> None:
        """After SIGKILL: return when no process of the group is left, or nobody reaps it."""
        deadline = time.monotonic() + LAST_MOMENT
        with suppress(ProcessLookupError):
            while self.process is not None and time.monotonic() < deadline:
                os.killpg(self.process.pid, 0)
                time.sleep(0.01)


@dataclass(slots=True)
class Supervisor:
    """A set of commands that run and stop together.

    Attributes:
        environment: of the commands.
        logs: the directory of their logs.
        say: prints a message.
    """

    environment: Mapping[str, str]
    logs: Path
    say: Callable[[str], None] = print
    children: list[Child] = field(default_factory=list)

    def start(
        self, name: str, command: Sequence[str], *, keep: Sequence[int] = ()
    ) -> Child:
        """Start one command and watch it from now on."""
        child = Child(name, command, self.logs / f"{name}.log", keep)
        self.children.append(child)
        with postponed():
            child.start(self.environment)
        return child

    def watch(self, seconds: float | None = None) -> None:
        """Keep all of them running, for some time or until stopped.

        Raises:
            ServicesError: one of them dies repeatedly.
            Stopped: inside `stopping_signals`, on Ctrl-C, SIGTERM or a closed terminal.
        """
        deadline = time.monotonic() + seconds if seconds is not None else None
        while deadline is None or time.monotonic() < deadline:
            for child in self.children:
                with postponed():
                    self._look(child, time.monotonic())
            time.sleep(POLL)

    def stop(self) -> None:
        """Stop all of them, the last one first; returns when none is left."""
        for child in reversed(self.children):
            if child.process is not None and child.process.poll() is None:
                # its leader ends its own child processes in order
                child.process.terminate()
        deadline = time.monotonic() + PATIENCE
        for child in self.children:
            if child.process is None:
                continue
            try:
                child.process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                self.say(f"{child.name} did not stop and was killed")
            # also processes that outlived their leader
            child.signal_group(signal.SIGKILL)
            child.process.wait()
            child.wait_for_group()
        self.children.clear()

    def _look(self, child: Child, now: float) -> None:
        if child.process is not None:
            if child.process.poll() is None:
                if now - child.started_at > STABLE:
                    child.deaths = 0
                return
            self._mourn(child, now)
        if now >= child.again_at:
            child.start(self.environment)

    def _mourn(self, child: Child, now: float) -> None:
        assert child.process is not None  # noqa: S101  # for the type checker
        code = child.process.returncode
        child.signal_group(signal.SIGKILL)
        child.process = None
        child.deaths += 1
        if child.deaths >= MANY_DEATHS:
            reason = launch.last_lines(child.log)
            raise ServicesError(
                f"{child.name} ended {child.deaths} times, at last with {code}:"
                f" see {child.log}\n{reason}"
            )
        pause = min(FIRST_PAUSE * 2 ** (child.deaths - 1), LONGEST_PAUSE)
        child.again_at = now + pause
        self.say(f"{child.name} exited with {code} and is restarted")


def child_environment(**changes: str) -> dict[str, str]:
    """Our environment with changes, for commands on services that we hold."""
    python_path = os.pathsep.join(
        filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
    )
    ours = {"PYTHONPATH": python_path, "PYTHONUNBUFFERED": "1"}
    return {**os.environ, **ours, **changes}
