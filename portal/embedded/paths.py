"""The files of the embedded services, and their addresses.

Both listen on sockets in a directory that only their owner may enter, never on a port: no port
can be in use, and no other user of the machine can connect. The address depends on the home only,
so that it is known before anything runs.
"""

import hashlib
import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

LONGEST_SOCKET = 100  # Linux allows 107 bytes, macOS 103
PLAIN = re.compile(
    r"[A-Za-z0-9/._-]*"
)  # has no special meaning in addresses or lists of them
POSTGRES_PORT = 5432  # part of the socket's name only
DATABASE = "gpu_ledger"
SUPERUSER = "postgres"
HOME_MODE = 0o700  # if PostgreSQL runs as another account, it uses file descriptors


@dataclass(frozen=True, slots=True)
class HomePaths:
    """The files of one home.

    Attributes:
        home: absolute, without links; see `places_of`.
        sockets: a short directory for the two sockets.
    """

    home: Path
    sockets: Path

    @property
    def postgres(self) -> Path:
        """The data directory of PostgreSQL."""
        return self.home / "postgres"

    @property
    def redis_socket(self) -> Path:
        """The socket of Redis."""
        return self.sockets / "redis.sock"

    @property
    def postgres_sockets(self) -> Path:
        """The folder of PostgreSQL's socket; a separate one, because it may run as another user."""
        return self.sockets / "postgres"

    @property
    def users_lock(self) -> Path:
        """Shared by all users of the services; exclusive for the process that stops them."""
        return self.home / "users.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the manager for as long as it runs."""
        return self.home / "keeper.lock"

    @property
    def start_lock(self) -> Path:
        """Held by the process that starts the manager."""
        return self.home / "start.lock"

    @property
    def demo(self) -> Path:
        """The state of a demo; a home without it contains a user's own ledger."""
        return self.home / "demo.json"

    def log(self, name: str) -> Path:
        """The log of one process."""
        return self.home / "logs" / f"{name}.log"

    @property
    def database_url(self) -> str:
        """The address of the embedded database."""
        query = urlencode({"host": str(self.postgres_sockets), "port": POSTGRES_PORT})
        return f"postgres://{SUPERUSER}@/{DATABASE}?{query}"

    @property
    def redis_url(self) -> str:
        """The address of the embedded Redis."""
        return f"unix://{self.redis_socket}?db=0"


def places_of(home: Path) -> HomePaths:
    """The paths of a home; nothing is created."""
    home = home.expanduser().resolve()
    sockets = home / "run"
    longest = sockets / "postgres" / f".s.PGSQL.{POSTGRES_PORT}"
    is_plain = PLAIN.fullmatch(str(home)) is not None
    if not is_plain or len(os.fsencode(longest)) > LONGEST_SOCKET:
        name = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        sockets = Path("/tmp") / f"gpu-ledger-{os.getuid()}-{name}"  # noqa: S108  # named by the user and the home
    return HomePaths(home, sockets)


def fault_of_owner(home: Path) -> str:
    """What to do about a home that belongs to another user; empty if it is ours.

    Files of two users in one home would conflict, also if one of them is root.
    """
    try:
        owner = home.stat().st_uid
    except OSError:
        return ""
    if owner == os.geteuid():
        return ""
    return (
        f"{home} belongs to {_name_of(owner)}, and this runs as"
        f" {_name_of(os.geteuid())}: set GPU_LEDGER_HOME to a folder that you own"
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def open_lock(path: Path) -> IO[bytes]:
    """A lock file that only its owner can open, created if missing."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
