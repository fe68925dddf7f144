"""The command line on a bare machine: no server, no database, no set-up (rule N37)."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from portal.embedded.paths import HomePaths
from tests.processes import processes_of, wait_until

ROOT = Path(__file__).resolve().parents[3]
TAKEN = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py` as a person does who has set nothing but what is given."""
    bare = {name: value for name, value in os.environ.items() if name not in TAKEN}
    bare.pop("GPU_LEDGER_LOCAL", None)
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**bare, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An empty home; nothing of it may still run afterwards."""
    yield tmp_path / "home"
    wait_until(lambda: not processes_of(str(tmp_path)))


@pytest.fixture
def empty_database(embedded: HomePaths) -> Iterator[str]:
    """The address of a database without any table."""
    with psycopg.connect(embedded.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
        yield embedded.database_url.replace("/gpu_ledger?", "/empty?")
        connection.execute("DROP DATABASE empty WITH (FORCE)")


def test_first_command_prepares_everything(home: Path) -> None:
    first = manage("report", "usage", "--format", "json", GPU_LEDGER_HOME=str(home))
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout) == {"rows": []}
    assert first.stderr == "gpu-ledger: preparing the database\n"
    assert not processes_of(str(home))
    second = manage("report", "usage", "--format", "json", GPU_LEDGER_HOME=str(home))
    assert (second.returncode, second.stderr) == (0, "")


def test_first_command_migrates_an_empty_database(
    empty_database: str, embedded: HomePaths, home: Path
) -> None:
    found = manage(
        *("report", "issues", "--format", "json"),
        DATABASE_URL=empty_database,
        REDIS_URL=embedded.redis_url,
        GPU_LEDGER_HOME=str(home),
    )
    assert found.returncode == 0, found.stderr
    assert not (home / "postgres").exists()


def test_older_database_of_somebodys_own_is_left_alone(
    empty_database: str, embedded: HomePaths, home: Path
) -> None:
    environment = {
        "DATABASE_URL": empty_database,
        "REDIS_URL": embedded.redis_url,
        "GPU_LEDGER_HOME": str(home),
    }
    assert manage("migrate", "accounting", "0001", **environment).returncode == 0
    found = manage("report", "usage", **environment)
    assert found.returncode == 3
    assert "run `manage.py migrate`" in found.stderr
    assert "Traceback" not in found.stderr


def test_unreachable_database_is_one_line(home: Path) -> None:
    found = manage(
        *("report", "usage"),
        DATABASE_URL="postgres://nobody:canary@127.0.0.1:1/none",
        REDIS_URL="redis://127.0.0.1:1",
        GPU_LEDGER_HOME=str(home),
    )
    assert found.returncode == 3
    assert found.stderr.count("\n") == 1
    assert "cannot be reached" in found.stderr
    assert "canary" not in found.stderr


def test_wrong_setting_is_one_message(home: Path) -> None:
    found = manage("check", LOG_LEVEL="LOUD", GPU_LEDGER_HOME=str(home))
    assert found.returncode == 3
    assert "LOG_LEVEL" in found.stderr
    assert "Traceback" not in found.stderr


def test_help_starts_nothing(home: Path) -> None:
    assert manage("report", "--help", GPU_LEDGER_HOME=str(home)).returncode == 0
    assert not (home / "postgres").exists()


def test_server_without_a_secret_does_not_start(home: Path) -> None:
    code = "import portal.wsgi"
    bare = {name: value for name, value in os.environ.items() if name not in TAKEN}
    bare.pop("GPU_LEDGER_LOCAL", None)
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**bare, "GPU_LEDGER_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode != 0
    assert "SECRET_KEY: is missing" in found.stderr
    assert not home.exists()
    shutil.rmtree(home, ignore_errors=True)
