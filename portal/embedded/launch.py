"""Starts server processes so that they end with their parent."""

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from portal.embedded.account import UnixAccount
from portal.embedded.errors import ServicesError


def tethered(command: Sequence[str], *, last_signal: signal.Signals) -> list[str]:
    """The command, set to get a signal when its parent dies.

    The kernel keeps that promise even after `kill -9` of the parent. It needs
    `setpriv` of util-linux; without it the next start cleans up instead.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return list(command)
    option = f"--pdeathsig={last_signal.name.removeprefix('SIG')}"
    return [setpriv, option, "--", *command]


def program(package: str, *parts: str) -> Path:
    """A program inside an installed wheel, found without importing the wheel.

    Raises:
        ServicesError: the wheel is not installed.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ServicesError(
            f"the wheel of {package} is not installed: install requirements.txt,"
            " or set DATABASE_URL and REDIS_URL"
        )
    return Path(found.submodule_search_locations[0]).joinpath(*parts)


def private_directory(path: Path, *, owner: UnixAccount | None = None) -> None:
    """Create a directory that only its owner may enter, or check an existing one.

    Raises:
        ServicesError: another user has created it, or it cannot be created.
    """
    ours, wanted = os.geteuid(), owner.uid if owner else os.geteuid()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()  # no links: in /tmp it may be another user's link
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {ours, wanted}:
            raise ServicesError(f"{path} belongs to another user: set GPU_LEDGER_HOME")
        if stat.S_IMODE(found.st_mode) != 0o700:
            path.chmod(0o700)
        if found.st_uid != wanted:
            os.chown(path, wanted, -1)
    except OSError as error:
        raise ServicesError(f"{path} cannot be made private: {error}") from None


def start(
    command: Sequence[str],
    *,
    log: Path,
    directory: Path,
    environment: Mapping[str, str] | None = None,
    account: UnixAccount | None = None,
    keep: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a server whose output is appended to its log.

    Args:
        directory: its working directory; entered before the account changes.
        account: None for our own.
        keep: file descriptors that it inherits.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=keep,
            **(account.options if account else {}),
        )


def last_lines(log: Path, count: int = 5) -> str:
    """The end of a log, for a message."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-count:])
