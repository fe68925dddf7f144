"""The process that starts, watches and stops the embedded services of one home.

Started by `portal.embedded.lease`, never manually. It prints `ready` or the reason of a failure,
then waits until no process shares the users' lock.
"""

import argparse
import fcntl
import logging
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import IO

from portal.embedded.errors import ServicesError
from portal.embedded.paths import HomePaths, open_lock, places_of
from portal.embedded.postgres import Postgres
from portal.embedded.redis import Redis

POLL = 0.1  # seconds between checks of the lock and the servers
FIRST_PAUSE = 0.5  # seconds before a server that died is restarted; then doubled
LONGEST_PAUSE = 30.0  # seconds

logger = logging.getLogger("keeper")

# Locks that are only released when this process ends: a new user waits for that, and then
# starts another manager.
_until_we_end: list[int] = []


class Watch:
    """One server, and how it is restarted.

    Attributes:
        server: started by `start`, running unless it died.
    """

    def __init__(self, server: Postgres | Redis) -> None:
        self.server = server
        self._pause = FIRST_PAUSE
        self._again_at = 0.0

    def look(self, now: float) -> None:
        """Restart the server if it has died and its pause is over."""
        process = self.server.process
        if process is not None and process.poll() is None:
            return
        if process is not None:
            code = process.returncode
            logger.warning("%s ended with %s; starting again", self.server.name, code)
            self.server.process = None
        if now < self._again_at:
            return
        try:
            self.server.start()
        except ServicesError as error:
            name = self.server.name
            logger.warning("%s: %s; again in %s s", name, error, self._pause)
            self._again_at = now + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        else:
            self._pause = FIRST_PAUSE


def keep(places: HomePaths, *, is_temporary: bool) -> int:
    """Run the services until the last user has ended; returns the exit code."""
    lock = open_lock(places.keeper_lock)
    _until_we_end.append(os.dup(lock.fileno()))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _answer("another manager has just started")
    servers: list[Postgres | Redis] = [
        Postgres(places, is_temporary=is_temporary),
        Redis(places),
    ]
    try:
        for server in servers:
            server.start()
        _answer("ready")
        _watch(places, [Watch(server) for server in servers])
    except ServicesError as error:
        return _answer(str(error))
    except Exception as error:
        logger.exception("an internal error of the manager")
        return _answer(f"{error!r}: see {places.log('keeper')}")
    finally:
        for server in reversed(servers):
            server.stop()
        shutil.rmtree(places.sockets, ignore_errors=True)
        if is_temporary:
            shutil.rmtree(places.home, ignore_errors=True)
    return 0


def _watch(places: HomePaths, watches: list[Watch]) -> None:
    with open_lock(places.users_lock) as users:
        while not _is_alone(users):
            for watch in watches:
                watch.look(time.monotonic())
            time.sleep(POLL)
        logger.info("the services are no longer used")
        _until_we_end.append(os.dup(users.fileno()))


def _is_alone(users: IO[bytes]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _answer(text: str) -> int:
    """Send the result to the parent process, and close the pipe."""
    print(text, flush=True)  # noqa: T201  # this is the answer
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 0 if text == "ready" else 1


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("home", type=Path)
    parser.add_argument("--temporary", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends after its last user
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # or on SIGTERM
    return keep(places_of(options.home), is_temporary=options.temporary)


if __name__ == "__main__":
    sys.exit(main())
