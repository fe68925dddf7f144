"""The account that PostgreSQL runs as."""

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.embedded.errors import ServicesError

# PostgreSQL refuses to run as root. This account exists on every Linux and owns nothing;
# only it may read the files of the embedded database.
UNPRIVILEGED = "nobody"
# The capabilities that root needs to start a server as another account and to manage its files,
# by their numbers in capabilities(7). A container may have removed them.
RIGHTS = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
}
OURSELVES = Path("/proc/self")


@dataclass(frozen=True, slots=True)
class UnixAccount:
    """Another account than our own; only root may use one."""

    name: str
    uid: int
    gid: int

    @property
    def options(self) -> dict[str, Any]:
        """Options of `subprocess` to start a process as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_account(process: Path = OURSELVES) -> UnixAccount | None:
    """The account that PostgreSQL runs as; None for our own.

    Args:
        process: the status of our process from the kernel.

    Raises:
        ServicesError: we are root and cannot use another account.
    """
    if os.geteuid() != 0:
        return None
    try:
        found = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise ServicesError(_refusal("the account does not exist")) from None
    if missing := _missing_rights(process):
        raise ServicesError(_refusal(f"root lacks {', '.join(missing)}"))
    if not _is_mapped(found.pw_uid, process):
        raise ServicesError(_refusal("this user namespace does not have that account"))
    return UnixAccount(found.pw_name, found.pw_uid, found.pw_gid)


def _refusal(reason: str) -> str:
    return (
        f"PostgreSQL refuses to run as root, and cannot run as {UNPRIVILEGED} here:"
        f" {reason}. Run as an ordinary user, or set DATABASE_URL"
    )


def _missing_rights(process: Path) -> list[str]:
    """Names of the missing capabilities."""
    status = (process / "status").read_text()
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    have = int(found[1], 16) if found else -1
    return [name for name, bit in RIGHTS.items() if not have >> bit & 1]


def _is_mapped(uid: int, process: Path) -> bool:
    """True if a user exists in our user namespace."""
    lines = (process / "uid_map").read_text().splitlines()
    ranges = [[int(number) for number in line.split()] for line in lines]
    return any(first <= uid < first + count for first, _, count in ranges)
