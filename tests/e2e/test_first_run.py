"""`make test` and `make demo` on a fresh checkout, wherever a person may have put it.

Aspects: root in a home of mode 700; another account in a home of mode 700, below a path with
spaces, with port 8000 in use; root in that checkout afterwards; a checkout that may not be
written. Each makes a virtual environment of its own, lists tests, and starts the demo; the last
one begins with the demo. Not here: running all of the tests in a new checkout (.ci/run), missing
capabilities and odd umasks (tests/integration/portal/test_services_as_root.py), the life of a demo
(test_demo.py).
"""

import fcntl
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from portal.embedded import programs
from tests.ports import take
from tests.processes import processes_of, wait_until
from tests.scratch import on_disk

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = (".venv*", ".git", ".gpu-ledger", "__pycache__", ".*_cache", ".hypothesis")
# What the shell of a person does not have: settings of this run, and of the make above it.
OURS = re.compile(
    r"(DATABASE|REDIS|PUBLIC)_URL|SECRET_KEY|GPU_LEDGER_HOME|DJANGO_.*|VIRTUAL_ENV|PYTHON.*"
    r"|VENV|M(AKE)?FLAGS|MAKE.*|PYTEST_.*|XDG_.*|UV_.*_DIR|HOME|USER|LOGNAME|TMPDIR|CI"
)
ACCOUNT = "daemon"  # on every Linux; owns nothing that matters here
PORT = 8000  # the demo's first choice
SETUP_S, FIRST_PAGE_S, STOP_S = 300.0, 120.0, 60.0

pytestmark = pytest.mark.timeout(600)


@dataclass
class Person:
    """Who runs `make`, with a home that nobody else may enter."""

    base: Path
    uid: int
    gid: int
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def options(self) -> dict[str, Any]:
        """What `subprocess` needs to start a process as this person, as at a terminal."""
        kept = {name: v for name, v in os.environ.items() if not OURS.fullmatch(name)}
        environment = {**kept, "HOME": str(self.home), **self.settings}
        identity: dict[str, Any] = {}
        if self.uid != os.geteuid():
            identity = {"user": self.uid, "group": self.gid, "extra_groups": []}
        return {"env": environment, "stdin": subprocess.DEVNULL, **identity}

    def make_fails(self, checkout: Path, *words: str) -> str:
        """Run `make` where it cannot work; what it says."""
        found = subprocess.run(
            ["make", *words],
            cwd=checkout,
            capture_output=True,
            text=True,
            check=False,
            timeout=SETUP_S,
            **self.options,
        )
        said: str = found.stdout + found.stderr
        assert found.returncode == 2, said
        assert "Traceback" not in said
        return said


def copy_of_checkout(target: Path) -> Path:
    """A fresh checkout, as `git clone` makes it."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return target


def own_cache(person: Person) -> None:
    """Let a person's uv find what ours has downloaded; without it, it downloads all again."""
    ours = Path(os.environ.get("UV_CACHE_DIR") or Path.home() / ".cache" / "uv")
    if person.uid == os.geteuid():
        person.settings["UV_CACHE_DIR"] = str(ours)
        return
    theirs = person.home / ".cache" / "uv"
    if not ours.is_dir() or ours.stat().st_dev != person.base.stat().st_dev:
        return
    # The files are shared by hard links and keep their owner. Linux lets nobody else make more
    # of those (fs.protected_hardlinks), so that the environment gets symbolic links.
    person.settings["UV_LINK_MODE"] = "symlink"
    theirs.mkdir(parents=True)
    folders = [path for path in ours.iterdir() if path.is_dir()]
    shared = [path for path in folders if path.name.startswith("archive-")]
    own = [path for path in folders if path not in shared]
    # tens of thousands of files: these programs take a fifth of Python's time
    for options, paths in ((["--link"], shared), ([], own)):
        if paths:
            subprocess.run(["cp", "--archive", *options, *paths, theirs], check=True)
    owner = f"{person.uid}:{person.gid}"
    whose = ["(", "-type", "d", "-o", "-not", "-path", "*/archive-*", ")"]
    change = ["-exec", "chown", "--no-dereference", owner, "{}", "+"]
    subprocess.run(["find", person.home / ".cache", *whose, *change], check=True)


@contextmanager
def somebody(uid: int, gid: int) -> Iterator[Person]:
    """A person with an empty home of mode 700; whatever they leave running is a failure."""
    base = Path(tempfile.mkdtemp(prefix="first-run-", dir=on_disk()))
    base.chmod(0o755)
    person = Person(base, uid, gid)
    person.home.mkdir(mode=0o700)
    os.chown(person.home, uid, gid)
    own_cache(person)
    try:
        yield person
        assert stat.S_IMODE(person.home.stat().st_mode) == 0o700
        wait_until(lambda: not processes_of(str(base)), STOP_S)
    finally:
        subprocess.run(["rm", "-rf", base], check=True)  # three environments


@pytest.fixture(scope="module")
def account() -> Iterator[Person]:
    """Somebody without rights: another account where this run is root, else ourselves."""
    found = pwd.getpwnam(ACCOUNT) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    with somebody(found.pw_uid, found.pw_gid) as person:
        words = [str(ROOT / "deploy" / "pythons")]
        if subprocess.run(words, cwd="/", check=False, **person.options).returncode:
            pytest.skip(f"no Python of this machine may be run by {found.pw_name}")
        yield person


@dataclass
class Demo:
    """A demo that `make demo` has started."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text()

    def is_up(self) -> bool:
        """Whether it has told the address and the sign-ins."""
        assert self.process.poll() is None, self.text
        return "Ctrl-C stops everything" in self.text

    @property
    def address(self) -> str:
        found = re.search(r"GPU Ledger is at (http://127.0.0.1:\d+)/", self.text)
        assert found, self.text
        return found[1]

    def sign_in(self) -> str:
        """The first page that the administrator gets, with the password of the terminal."""
        password = re.search(r"^\s+ana\s+(\S+)", self.text, re.MULTILINE)
        assert password, self.text
        with requests.Session() as session:
            form = session.get(f"{self.address}/", timeout=30)
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
            assert token, form.text
            fields = {"username": "ana", "password": password[1], "next": "/"}
            fields["csrfmiddlewaretoken"] = token[1]
            headers = {"Referer": form.url}
            page = session.post(form.url, fields, headers=headers, timeout=30)
            for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
                assert session.get(self.address + name, timeout=30).ok, name
            return str(page.text)

    def stop(self) -> None:
        """Ctrl-C: a signal to make and to all that it has started."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(STOP_S)


def assert_tests_are_found(
    person: Person, checkout: Path, log: Path, *tiers: str
) -> None:
    """`make test`, as far as the list of tests: it makes the environment on its way.

    It lists some tiers: to list all of them takes longer than the rest. To list them does not
    need the asserts that pytest rewrites: half of the time.
    """
    folders = " ".join(f"tests/{tier}" for tier in tiers)
    options = "--collect-only -q --assert=plain"
    with log.open("wb") as out:
        done = subprocess.run(
            ["make", "test", f"ARGS={options} {folders}"],
            cwd=checkout,
            stdout=out,
            stderr=out,
            check=False,
            timeout=SETUP_S,
            **person.options,
        )
    text = log.read_text()
    assert done.returncode == 0, text[-2000:]
    found = re.findall(r"^tests/(\w+)/.*\.py: \d+$", text, re.MULTILINE)
    assert set(found) == set(tiers)
    files = {
        file for tier in tiers for file in (ROOT / "tests" / tier).rglob("test_*.py")
    }
    assert len(found) == len(files)


@contextmanager
def demo(person: Person, checkout: Path, log: Path) -> Iterator[Demo]:
    """`make demo`, up to its first page."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["make", "demo", "ARGS=--fast"],
            cwd=checkout,
            stdout=out,
            stderr=out,
            start_new_session=True,
            **person.options,
        )
    found = Demo(process, log)
    try:
        wait_until(found.is_up, FIRST_PAGE_S)
        yield found
        found.stop()
        assert "Stopped. The next start continues from here" in found.text
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def copies_left() -> set[Path]:
    """What an embedded PostgreSQL of root has made outside of its home, and uses no more."""
    bases = programs.BASES
    found = {path for base in bases for path in base.glob(f"{programs.PREFIX}*")}
    return {path for path in found if not is_in_use(path)}


def is_in_use(copy: Path) -> bool:
    """Whether a demo of another test runs on it, or has just removed it."""
    try:
        lock = os.open(copy, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@pytest.mark.root
def test_root_in_a_home_that_only_root_may_enter(tmp_path: Path) -> None:
    before = copies_left()
    with somebody(0, 0) as root:
        checkout = copy_of_checkout(root.home / "gpu-ledger")
        assert_tests_are_found(root, checkout, tmp_path / "test.log", "browser", "e2e")
        with demo(root, checkout, tmp_path / "demo.log") as running:
            assert "Demo data" in running.sign_in()
    # another test's demo makes its copy a moment before it locks it
    wait_until(lambda: copies_left() <= before, STOP_S)


def test_person_in_a_path_with_spaces_with_a_port_in_use(
    account: Person, tmp_path: Path
) -> None:
    checkout = copy_of_checkout(account.home / "my 'own' projects" / "gpu ledger")
    for path in (checkout.parent, checkout, *checkout.rglob("*")):
        os.chown(path, account.uid, account.gid)
    with ExitStack() as others:
        take(PORT, others)
        assert_tests_are_found(account, checkout, tmp_path / "test.log", "check", "e2e")
        with demo(account, checkout, tmp_path / "demo.log") as running:
            assert f"Port {PORT} is in use: the pages are on port" in running.text
            assert not running.address.endswith(f":{PORT}")
            assert "Demo data" in running.sign_in()
    if os.geteuid() == 0:
        root = Person(account.base, 0, 0)
        said = root.make_fails(checkout, "demo")
        assert "gpu-ledger belongs to daemon, and this runs as root" in said
        (checkout / "requirements.txt").write_text("# another lock\n")
        said = root.make_fails(checkout, "demo")
        assert ".venv is out of date and belongs to daemon" in said


@pytest.mark.root
def test_person_in_a_checkout_that_may_not_be_written(
    account: Person, tmp_path: Path
) -> None:
    checkout = copy_of_checkout(account.base / "opt" / "gpu-ledger")
    said = account.make_fails(checkout, "demo")
    assert "may not be written by daemon: set GPU_LEDGER_HOME" in said
    ledger = account.home / "my ledger"
    account.settings["GPU_LEDGER_HOME"] = str(ledger)
    with demo(account, checkout, tmp_path / "demo.log") as running:
        assert "Demo data" in running.sign_in()
    assert_tests_are_found(account, checkout, tmp_path / "test.log", "check")
    inside = {path.name for path in ledger.iterdir()}
    assert {"venv", "cache", "postgres", "demo.json"} <= inside
    assert (ledger / "cache" / "pycache").is_dir()
    assert {path.stat().st_uid for path in checkout.rglob("*")} == {0}
