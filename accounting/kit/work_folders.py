"""Temporary folders of this process; those of killed processes are removed.

A folder is locked as long as its process lives: the kernel releases the lock with it.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "gpu-ledger-work-"
YOUNG_S = 60  # a folder that was just made may not be locked yet


@contextmanager
def work_folder(prefix: str) -> Iterator[Path]:
    """An empty folder that is removed at the end, or by the next one if the process is killed.

    Args:
        prefix: of its name, after `PREFIX`: what it is for.

    Raises:
        OSError: it cannot be made.
    """
    remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{prefix}-") as name:
        held = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(held)


def remove_abandoned() -> list[Path]:
    """Remove folders whose process is gone.

    Returns:
        Those that were removed.
    """
    found = Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
    return [path for path in found if _is_abandoned(path) and _is_removed(path)]


def _is_abandoned(path: Path) -> bool:
    """Whether nobody has locked a folder of this user; one that is gone, or new, is not."""
    try:
        status = path.lstat()
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < YOUNG_S:
            return False
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True


def _is_removed(path: Path) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()
