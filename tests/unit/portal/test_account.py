"""What root may do here decides whether it can run PostgreSQL as another account."""

import os
import pwd
from pathlib import Path

import pytest

from portal.embedded import account
from portal.embedded.errors import ServicesError

ALL = (1 << 41) - 1
WHOLE = "0 0 4294967295\n"


def process(tmp_path: Path, capabilities: int = ALL, uid_map: str = WHOLE) -> Path:
    """What the kernel says of a process."""
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities:016x}\n")
    (tmp_path / "uid_map").write_text(uid_map)
    return tmp_path


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_person_needs_no_other_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert account.server_account(process(tmp_path, 0, "")) is None


def test_root_uses_the_account_that_owns_nothing(tmp_path: Path) -> None:
    found = account.server_account(process(tmp_path))
    known = pwd.getpwnam("nobody")
    assert found == account.UnixAccount("nobody", known.pw_uid, known.pw_gid)
    assert found.options["extra_groups"] == []


@pytest.mark.parametrize(("name", "bit"), account.RIGHTS.items())
def test_every_missing_right_is_named(tmp_path: Path, name: str, bit: int) -> None:
    with pytest.raises(ServicesError, match=f"root lacks {name}\\. Run as"):
        account.server_account(process(tmp_path, ALL & ~(1 << bit)))


@pytest.mark.parametrize(
    ("uid_map", "is_there"),
    [
        ("0 0 1\n", False),
        ("0 1000 1\n1 100000 65536\n", True),  # of a container without a root daemon
        ("0 1000 1\n1 100000 65533\n", False),
    ],
)
def test_account_must_exist_in_the_user_namespace(
    tmp_path: Path, uid_map: str, is_there: bool
) -> None:
    assert account._is_mapped(65534, process(tmp_path, uid_map=uid_map)) == is_there


def test_missing_account_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "UNPRIVILEGED", "no-such-account")
    with pytest.raises(ServicesError, match="the account does not exist"):
        account.server_account(process(tmp_path))
