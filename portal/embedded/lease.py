"""Using the embedded services: start or join them, and let them stop after the last.

Everybody who uses them holds a shared lock on one file for as long as it lives. The
operating system lets go of a lock when its process ends, however it ends; the keeper
waits for the moment when it can have the lock alone, stops the services and goes. So
a `kill -9` leaves nothing behind, and two commands at once share one pair of servers.
"""

import atexit
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from portal.embedded.errors import ServicesError
from portal.embedded.paths import (
    HOME_MODE,
    HomePaths,
    fault_of_owner,
    open_lock,
    places_of,
)

STOP_TIMEOUT = 90  # seconds; the keeper waits 30 for PostgreSQL, on a slow machine more
POLL = 0.05  # seconds

_held: dict[Path, IO[bytes]] = {}
_started: dict[Path, subprocess.Popen[bytes]] = {}  # the keepers that are our children


def acquire(home: Path, *, is_temporary: bool = False) -> HomePaths:
    """Start the services of this home, or join them, until this process ends.

    Args:
        home: made if it is not there.
        is_temporary: for tests: nothing is synced to disk, and the home is deleted
            when the last user has gone.

    Raises:
        ServicesError: when they cannot be started; says why.
    """
    places = places_of(home)
    if places.home in _held:
        return places
    try:
        places.home.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
        if fault := fault_of_owner(places.home):
            raise ServicesError(fault)
        lock = _lock_shared(places)
    except OSError as error:
        raise ServicesError(
            f"{places.home} cannot be used ({error}): set GPU_LEDGER_HOME to a folder"
            " that you own"
        ) from None
    _held[places.home] = lock
    try:
        _ensure_keeper(places, is_temporary=is_temporary)
    except BaseException:
        _held.pop(places.home).close()
        raise
    if len(_held) == 1:
        atexit.register(_release_all, os.getpid())
    return places


def release(home: Path) -> None:
    """Stop using the services; returns when they have ended or others use them."""
    places = places_of(home)
    lock = _held.pop(places.home, None)
    if lock is None:
        return
    lock.close()
    deadline = time.monotonic() + STOP_TIMEOUT
    while time.monotonic() < deadline:
        if not keeper_lives(places):
            if places.home in _started:
                _started.pop(places.home).wait()
            return
        if _others_use(places):
            return
        time.sleep(POLL)


def keep_across_exec() -> None:
    """Let the program that this process becomes go on using the services."""
    for lock in _held.values():
        os.set_inheritable(lock.fileno(), True)  # noqa: FBT003  # positional only


def keeper_lives(places: HomePaths) -> bool:
    """True while a keeper holds its lock; a recorded process id could be another's."""
    try:
        with places.keeper_lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _release_all(owner: int) -> None:
    if os.getpid() == owner:  # a fork inherits the lock, and goes without a word
        for home in list(_held):
            release(home)


def _others_use(places: HomePaths) -> bool:
    """True when somebody else shares the lock; false while the keeper is stopping."""
    try:
        with places.users_lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except FileNotFoundError:
        return False
    return False


def _lock_shared(places: HomePaths) -> IO[bytes]:
    """Our share of the lock; waits while a keeper is stopping."""
    deadline = time.monotonic() + STOP_TIMEOUT
    while True:
        file = open_lock(places.users_lock)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            if time.monotonic() > deadline:
                message = f"the services in {places.home} did not stop in time"
                raise ServicesError(f"{message}: see {places.log('keeper')}") from None
            time.sleep(POLL)
            places.home.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
        else:
            return file


def _ensure_keeper(places: HomePaths, *, is_temporary: bool) -> None:
    with open_lock(places.start_lock) as start:
        fcntl.flock(start, fcntl.LOCK_EX)  # who waits here finds them started
        if not keeper_lives(places):
            _start_keeper(places, is_temporary=is_temporary)


def _start_keeper(places: HomePaths, *, is_temporary: bool) -> None:
    places.log("keeper").parent.mkdir(mode=0o700, exist_ok=True)
    command = [sys.executable, "-m", "portal.embedded.manager", str(places.home)]
    if is_temporary:
        command.append("--temporary")
    with places.log("keeper").open("ab") as log:
        keeper = subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us; it stops after us
        )
    assert keeper.stdout is not None  # noqa: S101  # for the type checker
    with keeper.stdout:
        answer = keeper.stdout.read().decode().strip()
    if answer != "ready":
        keeper.wait()
        raise ServicesError(answer or f"no reason reported: see {places.log('keeper')}")
    _started[places.home] = keeper
