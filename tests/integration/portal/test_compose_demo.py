"""The demo of docker-compose.yml without containers: cluster, Prometheus 3, portal.

The configuration of Prometheus is the one that the compose file mounts. Skipped: the
containers themselves.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from portal.demo.bootstrap.state import Memory
from portal.demo.scenario.story import Story
from portal.embedded import launch
from portal.embedded.paths import HomePaths
from tests import programs
from tests.ports import free_port
from tests.processes import wait_until

pytestmark = [pytest.mark.prometheus, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[3]
ROLE = "ledger_compose"  # roles are the whole server's
SECRET = "only for the compose demo of the tests"


@pytest.fixture
def environment(tmp_path: Path, embedded: HomePaths) -> Iterator[dict[str, str]]:
    """What the two containers see, with one small day of history."""
    now_s = int(time.time())
    story = Story.ending_at(now_s, seed=7, days=7, gpus=24)
    memory = Memory.first(tmp_path, story)
    memory.seen_live(now_s - 3 * 3600)
    memory.save()
    with psycopg.connect(embedded.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE compose")
        yield {
            **os.environ,
            "SECRET_KEY": SECRET,
            "GPU_LEDGER_HOME": str(tmp_path / "home"),
            "DATABASE_URL": embedded.database_url.replace("/gpu_ledger?", "/compose?"),
            "REDIS_URL": embedded.redis_url,
            "DEMO_HOME": str(tmp_path),
            "DEMO_PORT": str(free_port()),
            "DEMO_PROMETHEUS": f"http://127.0.0.1:{free_port()}",
        }
        connection.execute("DROP DATABASE compose WITH (FORCE)")
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}")


def command(*words: str) -> list[str]:
    """A command that ends with the tests."""
    return launch.tethered(words, last_signal=signal.SIGKILL)


@pytest.fixture
def cluster(environment: dict[str, str]) -> Iterator[None]:
    """The simulated cluster, as its container starts it."""
    words = [sys.executable, "-m", "portal.demo.bootstrap.compose", "cluster"]
    with subprocess.Popen(
        command(*words), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        targets = Path(environment["DEMO_HOME"]) / "targets.json"
        wait_until(targets.exists, 60)
        yield
        process.terminate()


@pytest.fixture
def prometheus(
    environment: dict[str, str], cluster: None, tmp_path: Path
) -> Iterator[str]:
    """Prometheus 3 on the mounted configuration; its address."""
    del cluster
    text = (ROOT / "deploy" / "compose" / "prometheus.yml").read_text()
    text = text.replace("/demo/", f"{tmp_path}/").replace(": 30s", ": 1s")
    text = text.replace("scrape_timeout: 10s", "scrape_timeout: 1s")
    (tmp_path / "prometheus.yml").write_text(text)
    address = environment["DEMO_PROMETHEUS"]
    words = [
        str(programs.prometheus3()),
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/tsdb",
        f"--web.listen-address={address.removeprefix('http://')}",
        "--log.level=error",
    ]
    with subprocess.Popen(command(*words)) as process:
        yield address
        process.terminate()


def ask(address: str, query: str) -> list[Any]:
    """The result of an instant query; empty while the server starts."""
    url = f"{address}/api/v1/query?{urlencode({'query': query})}"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
            return found
    except OSError:
        return []


def test_prometheus_sees_every_exporter_of_the_cluster(
    prometheus: str, tmp_path: Path
) -> None:
    targets = json.loads((tmp_path / "targets.json").read_text())
    wait_until(lambda: len(ask(prometheus, "up")) == len(targets), 60)
    jobs = {row["metric"]["job"] for row in ask(prometheus, "up")}
    assert jobs == {"amd-exporter", "dcgm-exporter", "kube-state-metrics"}
    wait_until(lambda: bool(ask(prometheus, "kube_pod_status_phase == 1")), 60)
    held = ask(prometheus, 'DCGM_FI_DEV_GPU_UTIL{pod!="",exported_pod=""}')
    assert held, "the labels of pods arrive unchanged"


def test_portal_is_told_and_history_is_imported(
    environment: dict[str, str], prometheus: str
) -> None:
    wait_until(lambda: bool(ask(prometheus, "up")), 60)
    # As in the file: the owner migrates, and history is imported by the services' role.
    owner = environment["DATABASE_URL"]
    where = owner.partition("@")[2]
    services = environment | {"DATABASE_URL": f"postgres://{ROLE}:a-secret@{where}"}
    told = environment | {"APP_DATABASE_URL": services["DATABASE_URL"]}
    words = [sys.executable, "-m", "portal.embedded.roles", "migrate"]
    subprocess.run(words, cwd=ROOT, env=told, check=True, stdout=subprocess.DEVNULL)
    words = [sys.executable, "-m", "portal.demo.bootstrap.compose", "history"]
    found = subprocess.run(
        words, cwd=ROOT, env=services, check=False, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        query = "SELECT name, kind FROM accounting_source ORDER BY name"
        assert connection.execute(query).fetchall() == [
            ("history", "openmetrics"),
            ("live", "prometheus"),
        ]
        row = connection.execute("SELECT count(*) FROM usage_window").fetchone()
        assert row
        assert row[0] > 24 * 12  # GPUs x windows of one hour
