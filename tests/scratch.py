"""Temporary files of a run of the tests: in memory, where there is enough of it.

A database is 1,700 small files. On the disk of a virtual machine, to create one of them took half a
millisecond of processor time: a second to copy a database, and a tenth of it in memory. Tests
create, copy and empty databases all the time.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108  # on every Linux; a few MB in a container
NEEDED = 8 * 1024**3  # bytes; a run of all tests uses up to 3 GB
LIMITS = {  # of a container, and what of it is used: of cgroups 2, and 1
    "/sys/fs/cgroup/memory.max": "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": (
        "/sys/fs/cgroup/memory/memory.usage_in_bytes"
    ),
}
NAMED = "TMPDIR"
PREFIX = "ledger-tests-"
AGE = 60.0  # seconds; a younger folder may not be locked yet


@contextmanager
def in_memory(place: Path = MEMORY, needed: int = NEEDED) -> Iterator[None]:
    """Let `tempfile`, of this process and of those that it starts, use a folder in memory.

    All that is in it is deleted at the end, or by the next run if this one is killed. Does nothing
    where memory is short, or where somebody has named a folder.
    """
    if os.environ.get(NAMED) or min(_free(place), _available()) < needed:
        yield
        return
    _remove_left_over(place)
    with (
        tempfile.TemporaryDirectory(
            prefix=PREFIX, dir=place, ignore_cleanup_errors=True
        ) as folder,
        _locked(Path(folder)),
    ):
        Path(folder).chmod(0o1777)  # as /tmp: some tests run as another user
        os.environ[NAMED] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ[NAMED]
            tempfile.tempdir = None


def on_disk() -> Path:
    """A folder for what is too large for memory, or links to files of a cache."""
    found = Path(tempfile.gettempdir())
    return Path("/tmp") if found.is_relative_to(MEMORY) else found  # noqa: S108  # callers make folders in it


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """While this process lives, nobody else has the lock of a folder.

    Raises:
        BlockingIOError: another process has it.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _remove_left_over(place: Path) -> None:
    """Remove folders of runs that were killed."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is in use, another user's, or has just gone
            if time.time() - folder.stat().st_mtime > AGE:
                with _locked(folder):
                    shutil.rmtree(folder)


def _free(folder: Path) -> int:
    """Free bytes of a folder's file system; 0 if there is none."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _available() -> int:
    """Bytes of memory that processes can still take; 0 if not known.

    Files in memory count as memory of a container, whose limit the machine does not show.
    """
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    of_machine = int(found[0]) * 1024 if found else 0
    return min([of_machine, *left_of_limits(LIMITS)])


def left_of_limits(limits: Mapping[str, str]) -> list[int]:
    """Bytes that are left of each limit there is, by the files of limits and of what is used."""
    found = []
    for limit, used in limits.items():
        with suppress(OSError, ValueError):  # no such file, or "max"
            found.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
    return found
