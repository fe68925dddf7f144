"""The embedded services: start, join, stop, and every way to be interrupted.

Aspects: one and several users, each process killed without warning, files left by a
killed run, a full disk, homes with long names. Skipped: a busy port cannot happen,
because both servers listen on sockets only (test_services_listen_on_no_port).
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis

from portal.embedded import lease
from portal.embedded.errors import ServicesError
from portal.embedded.paths import PLAIN, HomePaths, places_of
from tests.processes import processes_of, wait_until

ROOT = Path(__file__).resolve().parents[3]
USER = """
import sys
from pathlib import Path
from portal.embedded import lease
lease.acquire(Path(sys.argv[1]))
print("up", flush=True)
sys.stdin.read()
"""

StartUser = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of this test; whatever it leaves running is a failure."""
    path = tmp_path / "home"
    yield path
    lease.release(path)  # where the test has failed before
    wait_until(lambda: not processes_of(str(path)))
    shutil.rmtree(places_of(path).sockets, ignore_errors=True)


@pytest.fixture
def start_user(home: Path) -> Iterator[StartUser]:
    """Starts processes that use the services until their input ends."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        user = subprocess.Popen(
            [sys.executable, "-c", USER, str(home)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(user)
        assert user.stdout is not None
        assert user.stdout.readline() == "up\n"
        return user

    yield start
    for user in started:
        user.communicate(timeout=60)


def execute(places: HomePaths, text: str) -> None:
    """One statement to the embedded database."""
    with psycopg.connect(places.database_url, autocommit=True) as connection:
        connection.execute(text)


def query(places: HomePaths, text: str) -> object:
    """One value from the embedded database."""
    with psycopg.connect(places.database_url, autocommit=True) as connection:
        row = connection.execute(text).fetchone()
        return row[0] if row else None


def answers(places: HomePaths) -> bool:
    """True when both services do."""
    try:
        with redis.Redis.from_url(places.redis_url) as client:
            return bool(client.ping()) and query(places, "SELECT 1") == 1
    except (psycopg.OperationalError, redis.RedisError):
        return False


def process_called(home: Path, word: str) -> int:
    """The one process of a home with a word in its command line."""

    # A child of PostgreSQL calls itself `postgres: ...`; the server shows its options.
    def found() -> list[int]:
        return [pid for pid, line in processes_of(str(home)).items() if word in line]

    wait_until(lambda: len(found()) == 1)  # a fork shows its parent's line for a moment
    return found()[0]


def test_state_survives_from_one_user_to_the_next(home: Path) -> None:
    places = lease.acquire(home)
    assert lease.acquire(home) == places  # once more changes nothing
    execute(places, "CREATE TABLE kept AS SELECT 41 AS value")
    lease.release(home)
    assert not processes_of(str(home))
    lease.acquire(home)
    assert query(places, "SELECT value FROM kept") == 41
    lease.release(home)


def test_database_sorts_and_tells_time_like_everywhere(home: Path) -> None:
    places = lease.acquire(home, is_temporary=True)
    assert query(places, "SHOW timezone") == "UTC"
    assert query(places, "SELECT 'a' < 'B'") is False
    assert query(places, "SELECT upper('é')") == "É"
    lease.release(home)
    assert not home.exists()


def test_services_listen_on_no_port(home: Path) -> None:
    places = lease.acquire(home, is_temporary=True)
    assert query(places, "SHOW listen_addresses") == ""
    with redis.Redis.from_url(places.redis_url) as client:
        assert client.config_get("port") == {"port": "0"}
    lease.release(home)


def test_several_users_share_one_pair_of_servers(
    home: Path, start_user: StartUser
) -> None:
    first, second = start_user(), start_user()
    assert process_called(home, "portal.embedded.manager")
    first.communicate(timeout=60)
    assert answers(places_of(home))
    second.communicate(timeout=60)
    assert not processes_of(str(home))


def test_users_that_come_at_once_start_one_keeper(home: Path) -> None:
    command = [sys.executable, "-c", USER, str(home)]
    users = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for user in users:
        assert user.stdout is not None
        assert user.stdout.readline() == "up\n"
    assert process_called(home, "portal.embedded.manager")
    for user in users:
        assert user.communicate(timeout=60)[1] == ""


def test_killed_user_leaves_nothing_running(home: Path, start_user: StartUser) -> None:
    user = start_user()
    user.kill()
    wait_until(lambda: not processes_of(str(home)))


def test_killed_user_does_not_disturb_another(
    home: Path, start_user: StartUser
) -> None:
    first, _second = start_user(), start_user()
    first.kill()
    first.wait()
    assert answers(places_of(home))


def test_killed_keeper_takes_its_servers_along(
    home: Path, start_user: StartUser
) -> None:
    user = start_user()
    os.kill(process_called(home, "portal.embedded.manager"), signal.SIGKILL)
    wait_until(lambda: list(processes_of(str(home))) == [user.pid])
    start_user()  # the lock of the keeper went with it: this one starts another
    assert answers(places_of(home))


def test_user_starts_the_services_of_a_killed_keeper_again(home: Path) -> None:
    places = lease.acquire(home)
    assert not lease.restore(home)
    os.kill(process_called(home, "portal.embedded.manager"), signal.SIGKILL)
    wait_until(lambda: not processes_of(str(home)))
    assert lease.restore(home)
    assert answers(places)
    assert not lease.restore(home)
    assert not lease.restore(home / "of-somebody-else")
    lease.release(home)


@pytest.mark.parametrize("server", ["bin/postgres", "redis-server"])
def test_killed_server_starts_again(
    home: Path, start_user: StartUser, server: str
) -> None:
    start_user()
    killed = process_called(home, server)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in processes_of(str(home)))
    wait_until(lambda: answers(places_of(home)))
    assert process_called(home, server) != killed


def test_everything_killed_at_once_recovers(home: Path, start_user: StartUser) -> None:
    start_user()
    places = places_of(home)
    execute(places, "CREATE TABLE kept AS SELECT 1")
    execute(places, "CHECKPOINT")  # a commit alone reaches the disk within a second
    running = processes_of(str(home))
    for number in (signal.SIGSTOP, signal.SIGKILL):  # or one ends well after another
        for pid in running:
            with suppress(ProcessLookupError):  # it ended with the one before it
                os.kill(pid, number)
    wait_until(lambda: not processes_of(str(home)))
    assert (places.postgres / "postmaster.pid").exists()
    start_user()
    assert query(places, "SELECT count(*) FROM kept") == 1


def test_stale_lock_file_that_names_another_program_is_healed(home: Path) -> None:
    places = lease.acquire(home)
    lease.release(home)
    (places.postgres / "postmaster.pid").write_text(
        f"{os.getpid()}\n{places.postgres}\n1700000000\n5432\n/nowhere\n\n1 1\nready\n"
    )
    lease.acquire(home)
    assert answers(places)
    lease.release(home)


def test_half_made_database_is_made_again(home: Path) -> None:
    places = places_of(home)
    draft = home / "postgres.new"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18\n")
    lease.acquire(home)
    assert answers(places)
    assert not draft.exists()
    lease.release(home)


def test_database_of_another_version_is_named(home: Path) -> None:
    places = lease.acquire(home)
    lease.release(home)
    (places.postgres / "PG_VERSION").write_text("15\n")
    with pytest.raises(ServicesError, match="another PostgreSQL version"):
        lease.acquire(home)


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short path: only what is in it makes a name unusual."""
    path = Path(tempfile.mkdtemp(prefix="gl-"))
    yield path
    wait_until(lambda: not processes_of(str(path)))
    shutil.rmtree(path)


@pytest.mark.parametrize("name", ["d" * 120, "a b, 'c' %41?x=1#\"é"])
def test_home_with_an_unusual_name_has_plain_sockets(short: Path, name: str) -> None:
    places = lease.acquire(short / name)
    try:
        assert PLAIN.fullmatch(str(places.redis_socket))
        assert len(str(places.redis_socket)) < 60
        assert answers(places)
    finally:
        lease.release(short / name)
    assert not places.sockets.exists()


def test_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ServicesError, match="cannot be used"):
        lease.acquire(path)


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    """A home of another account, with a name short enough for its sockets."""
    path = Path(tempfile.mkdtemp(prefix="gpu-ledger-"))
    person = pwd.getpwnam("nobody")
    os.chown(path, person.pw_uid, person.pw_gid)
    yield path
    wait_until(lambda: not processes_of(str(path)))
    shutil.rmtree(path)


@pytest.mark.root
def test_person_without_rights_runs_them_as_well(home_of_nobody: Path) -> None:
    """The other tests of this file run as whoever runs them, in CI as root."""
    owner = home_of_nobody.stat()
    identity = [f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups"]
    # Only to read an interpreter and a checkout that may lie in the home of root.
    identity += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    words = ["setpriv", *identity, sys.executable, "-c", USER, str(home_of_nobody)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, text=True, stdin=pipe, stdout=pipe) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == "up\n"
        assert answers(places_of(home_of_nobody))
        owners = {path.stat().st_uid for path in home_of_nobody.iterdir()}
    assert owners == {owner.st_uid}
    with pytest.raises(ServicesError, match="belongs to nobody, and this runs as root"):
        lease.acquire(home_of_nobody)  # root's files would be in the person's way


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """A home on a disk of 256 MB, where this machine lets us mount one."""
    home.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256m,mode=700", "tmpfs"]
    made = subprocess.run(["mount", *options, str(home)], check=False)
    if made.returncode:
        pytest.skip("this machine does not let us mount a small disk")
    yield home
    lease.release(home)
    try:
        wait_until(lambda: not processes_of(str(home)))
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """A file that takes all but some bytes of a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        file.truncate(0)
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - leave)
    return ballast


@pytest.mark.root
def test_full_disk_is_named_before_anything_is_made(small_disk: Path) -> None:
    ballast = fill(small_disk, 5 * 1024**2)
    with pytest.raises(ServicesError, match=r"is full: 5 MB free, at least 192 MB"):
        lease.acquire(small_disk)
    assert not (small_disk / "postgres").exists()
    ballast.unlink()
    assert answers(lease.acquire(small_disk))
    lease.release(small_disk)


@pytest.mark.root
def test_disk_that_fills_up_heals_when_there_is_room(small_disk: Path) -> None:
    places = lease.acquire(small_disk)
    execute(places, "CREATE TABLE big (text text)")
    ballast = fill(small_disk, 1024**2)
    rows = "SELECT repeat(md5(i::text), 60) FROM generate_series(1, 200000) i"
    with (
        pytest.raises(psycopg.OperationalError),
        psycopg.connect(places.database_url) as connection,
    ):
        connection.execute(f"INSERT INTO big {rows}")
    ballast.unlink()
    wait_until(lambda: answers(places), seconds=60)
    assert query(places, "SELECT count(*) FROM big") == 0
    lease.release(small_disk)
