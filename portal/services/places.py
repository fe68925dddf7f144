"""Where the embedded services keep their things, and how they are reached.

Both listen on sockets in a directory that only their owner may enter, never on a
port: nothing can be busy, and no other user of the machine can connect. The address
follows from the home alone, so that it is known before anything runs.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

LONGEST_SOCKET = 100  # Linux allows 107 bytes, macOS 103
POSTGRES_PORT = 5432  # part of the socket's name only
DATABASE = "gpu_ledger"
SUPERUSER = "postgres"
HOME_MODE = 0o711  # PostgreSQL may be another account, and must get through


@dataclass(frozen=True, slots=True)
class Places:
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
        """Where Redis listens."""
        return self.sockets / "redis.sock"

    @property
    def postgres_sockets(self) -> Path:
        """Where PostgreSQL listens; its own directory, for it may be another user."""
        return self.sockets / "postgres"

    @property
    def users_lock(self) -> Path:
        """Shared by everybody who uses the services; whole for who stops them."""
        return self.home / "users.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the keeper for as long as it lives."""
        return self.home / "keeper.lock"

    @property
    def start_lock(self) -> Path:
        """Held by the one who starts the keeper."""
        return self.home / "start.lock"

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


def places_of(home: Path) -> Places:
    """The places of a home; nothing is created."""
    home = home.expanduser().resolve()
    sockets = home / "run"
    longest = sockets / "postgres" / f".s.PGSQL.{POSTGRES_PORT}"
    if len(os.fsencode(longest)) > LONGEST_SOCKET:
        name = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        sockets = Path("/tmp") / f"gpu-ledger-{os.getuid()}-{name}"  # noqa: S108
    return Places(home, sockets)


def open_lock(path: Path) -> IO[bytes]:
    """A lock file that only its owner can open, made where it is not there."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
