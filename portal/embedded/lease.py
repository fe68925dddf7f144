"""Using the embedded services: start or join them, and stop them after the last user.

Every user process holds a shared lock on one file for as long as it runs. The operating system
releases a lock when its process ends, however it ends; the manager waits until it can get the
lock exclusively, then stops the services and ends. So a `kill -9` leaves nothing behind, and two
commands at the same time share one pair of servers.
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

# seconds; the manager waits 30 for PostgreSQL, on a slow machine longer
STOP_TIMEOUT = 90
POLL = 0.05  # seconds

_held: dict[Path, IO[bytes]] = {}
# managers that are our child processes
_started: dict[Path, subprocess.Popen[bytes]] = {}


def acquire(home: Path, *, is_temporary: bool = False) -> HomePaths:
    """Start or join the services of this home, until this process ends.

    Args:
        home: created if missing.
        is_temporary: for tests: nothing is synced to disk, and the home is deleted after the
            last user.

    Raises:
        ServicesError: they cannot be started; with the reason.
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


def restore(home: Path) -> bool:
    """Start the services of this home again if their manager was killed, which ends them.

    Returns:
        True if they were started; False if they run, or this process does not use them.

    Raises:
        ServicesError: they cannot be started; with the reason.
    """
    places = places_of(home)
    if places.home not in _held or keeper_lives(places):
        return False
    if places.home in _started:
        _started.pop(places.home).wait()
    _ensure_keeper(places, is_temporary=False)
    return True


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
    """Keep using the services in the program that this process becomes."""
    for lock in _held.values():
        os.set_inheritable(lock.fileno(), True)  # noqa: FBT003  # positional only


def keeper_lives(places: HomePaths) -> bool:
    """True while a manager holds its lock; a stored process id could be another process."""
    try:
        with places.keeper_lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _release_all(owner: int) -> None:
    if os.getpid() == owner:  # a fork inherits the lock, and ends without output
        for home in list(_held):
            release(home)


def _others_use(places: HomePaths) -> bool:
    """True if another process shares the lock; False while the manager is stopping."""
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
    """Get a share of the lock; waits while a manager is stopping."""
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
        # a process that waited here finds them started
        fcntl.flock(start, fcntl.LOCK_EX)
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
            start_new_session=True,  # Ctrl-C is for us; the manager stops after us
        )
    assert keeper.stdout is not None  # noqa: S101  # for the type checker
    with keeper.stdout:
        answer = keeper.stdout.read().decode().strip()
    if answer != "ready":
        keeper.wait()
        raise ServicesError(answer or f"no reason reported: see {places.log('keeper')}")
    _started[places.home] = keeper
