"""The embedded PostgreSQL: its data directory, its process, its errors as sentences."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from portal.embedded import launch
from portal.embedded.account import UnixAccount, server_account
from portal.embedded.errors import ServicesError
from portal.embedded.paths import DATABASE, POSTGRES_PORT, SUPERUSER, HomePaths
from portal.embedded.programs import Programs, programs_for

ROOM_TO_CREATE = 192 * 1024**2  # bytes: 40 MB of catalogues, 80 MB of write-ahead log
ROOM_TO_START = 32 * 1024**2  # bytes: two segments of the write-ahead log
START_TIMEOUT = 120  # seconds: recovery after a crash replays up to a GB of log
FAST_STOP = 20  # seconds after which an orderly stop is forced
RETRY = 0.05  # seconds

SETTINGS = {
    "listen_addresses": "",  # the socket only
    "shared_buffers": "192MB",
    "maintenance_work_mem": "128MB",
    "work_mem": "16MB",
    "max_wal_size": "1GB",
    "wal_level": "minimal",  # one machine, no replicas
    "max_wal_senders": "0",
    # a crash may lose the last second, but never a part of a transaction
    "synchronous_commit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
}
# deleted after the run
TEMPORARY_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    # tests in a transaction drop years of partitions, several processes side by side
    "max_locks_per_transaction": "512",
}


@dataclass(slots=True)
class Postgres:
    """One embedded server. Only the manager creates one; it holds the manager's lock.

    Attributes:
        places: its paths.
        is_temporary: nothing has to survive a crash of the machine.
        process: the running server; None before `start` and after `stop`.

    As root it runs as another account, which may be unable to enter the folders above the home: it
    gets its data as its working directory, and its sockets as an open descriptor.
    """

    places: HomePaths
    is_temporary: bool = False
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _account: UnixAccount | None = field(default=None, init=False)
    _programs: Programs | None = field(default=None, init=False)

    name = "postgres"

    def start(self) -> None:
        """Create the data directory if missing; returns when the server responds.

        Raises:
            ServicesError: it cannot run; no process is left then.
        """
        is_new = not (self.places.postgres / "PG_VERSION").exists()
        self._require_room(ROOM_TO_CREATE if is_new else ROOM_TO_START)
        self._account = server_account()
        self._programs = self._programs or programs_for(self._account)
        launch.private_directory(self.places.sockets)
        launch.private_directory(self.places.postgres_sockets, owner=self._account)
        if is_new:
            self._create()
        self._end_left_over()
        deadline = time.monotonic() + START_TIMEOUT
        while not self._try_start(deadline):
            # child processes of a killed server still have its memory
            time.sleep(10 * RETRY)

    def stop(self) -> None:
        """End it in an orderly way; by force if it does not respond."""
        if self.process is not None and self.process.poll() is None:
            _end(self.process)
        self.process = None
        if self._programs is not None:
            self._programs.release()
        self._programs = None

    def _create(self) -> None:
        """Create it in a temporary folder, so that a killed attempt is not mistaken for it."""
        draft = self.places.postgres.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        launch.private_directory(draft, owner=self._account)
        command = [
            self._program("initdb"),
            f"--pgdata={self._data(draft)}",
            f"--username={SUPERUSER}",
            "--auth-local=trust",  # access is limited by the directory of the socket
            "--auth-host=reject",
            "--encoding=UTF8",
            "--locale-provider=builtin",  # the same order on every machine
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            "--no-instructions",
            "--no-sync",
        ]
        log = self.places.log(self.name)
        with log.open("ab") as output:
            made = subprocess.run(
                launch.tethered(command, last_signal=signal.SIGINT),
                cwd=draft,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                **(self._account.options if self._account else {}),
            )
        if made.returncode:
            shutil.rmtree(draft, ignore_errors=True)
            raise ServicesError(self._in_words())
        draft.rename(self.places.postgres)

    def _try_start(self, deadline: float) -> bool:
        """True if it responds, False if another try is useful."""
        log = self.places.log(self.name)
        begin = log.stat().st_size if log.exists() else 0
        sockets = os.open(self.places.postgres_sockets, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.process = launch.start(
                launch.tethered(self._command(sockets), last_signal=signal.SIGINT),
                log=log,
                directory=self.places.postgres,
                account=self._account,
                keep=[sockets] if self._account else [],
            )
        finally:
            os.close(sockets)
        while self.process.poll() is None:
            if self._answers():
                return True
            if time.monotonic() > deadline:
                self.stop()
                raise ServicesError(f"PostgreSQL does not respond: see {log}")
            time.sleep(RETRY)
        self.process = None
        with log.open("rb") as file:
            file.seek(begin)
            output = file.read().decode(errors="replace")
        if "still in use" in output and time.monotonic() < deadline:
            return False
        raise ServicesError(self._in_words(output))

    def _answers(self) -> bool:
        """True if our database exists; creates it if only that is missing."""
        address = {"host": str(self.places.postgres_sockets), "port": POSTGRES_PORT}
        try:
            with psycopg.connect(
                **address,  # type: ignore[arg-type]  # host is text, port a number
                user=SUPERUSER,
                dbname="postgres",
                autocommit=True,
                connect_timeout=5,
            ) as connection:
                query = "SELECT 1 FROM pg_database WHERE datname = %s"
                if not connection.execute(query, [DATABASE]).fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True

    def _end_left_over(self) -> None:
        """Clean up after a killed manager: a server without one, or a stale file."""
        path = self.places.postgres / "postmaster.pid"
        try:
            number = int(path.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError, PermissionError):
            number = 0
        deadline = time.monotonic() + FAST_STOP
        while number > 1 and self._is_ours(number):
            is_late = time.monotonic() > deadline
            os.kill(number, signal.SIGKILL if is_late else signal.SIGINT)
            time.sleep(2 * RETRY)
        # PostgreSQL trusts the process ids in these files, although they may now belong to other
        # programs.
        path.unlink(missing_ok=True)
        socket = self.places.postgres_sockets / f".s.PGSQL.{POSTGRES_PORT}.lock"
        socket.unlink(missing_ok=True)

    def _is_ours(self, number: int) -> bool:
        """True if a process is a server on our data directory."""
        try:
            return Path(f"/proc/{number}/cwd").resolve() == self.places.postgres
        except OSError:
            return False

    def _require_room(self, needed: int) -> None:
        free = shutil.disk_usage(self.places.home).free
        if free < needed:
            raise ServicesError(
                f"the disk of {self.places.home} is full: {free // 1024**2} MB free,"
                f" at least {needed // 1024**2} MB are needed. Free some space, or set "
                "GPU_LEDGER_HOME to another disk"
            )

    def _command(self, sockets: int) -> list[str]:
        """The server's command line; `sockets` is an open descriptor of their folder."""
        command = [self._program("postgres"), "-D", self._data(self.places.postgres)]
        settings = SETTINGS | (TEMPORARY_SETTINGS if self.is_temporary else {})
        settings["unix_socket_directories"] = (
            f"/proc/self/fd/{sockets}"
            if self._account
            else str(self.places.postgres_sockets)
        )
        settings["port"] = str(POSTGRES_PORT)
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return command

    def _data(self, directory: Path) -> str:
        """The option for the data directory of a program."""
        return "/proc/self/cwd" if self._account else str(directory)

    def _program(self, name: str) -> str:
        assert self._programs is not None  # noqa: S101  # `start` has found them
        return self._programs.path(name)

    def _in_words(self, output: str = "") -> str:
        log = self.places.log(self.name)
        output = output or launch.last_lines(log, 20)
        if "No space left on device" in output:
            return (
                f"the disk of {self.places.home} is full: free some space and try again"
            )
        if "database files are incompatible" in output:
            return (
                f"{self.places.postgres} was made by another PostgreSQL version:"
                " move it away, or set DATABASE_URL"
            )
        reason = launch.last_lines(log, 5)
        return f"PostgreSQL does not start: see {log}\n{reason}"


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, patience in (
        (signal.SIGINT, FAST_STOP),  # fast: ends sessions, writes a checkpoint
        (signal.SIGQUIT, 5),  # immediate: the next start recovers
        (signal.SIGKILL, 5),
    ):
        process.send_signal(number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return
