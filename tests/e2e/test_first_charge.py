"""From nothing to the first charge, as docs/operations.md says: run, worker, beat, one person,
a Prometheus, the first team and the first price."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import pytest
import requests

from tests.builders import STEP, Text
from tests.ports import free_port
from tests.processes import processes_of, wait_until
from tests.prometheus_server import prometheus

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operations.md").read_text()
PASSWORD = "correct horse battery staple"
STOP_S = 60.0

pytestmark = [pytest.mark.timeout(420), pytest.mark.prometheus]


def blocks(language: str) -> list[str]:
    """The blocks of the section, in order."""
    section = PAGE.partition("## From nothing")[2].partition("\n## ")[0]
    found = re.findall(
        rf"^ *```{language}\n(.*?)^ *```$", section, re.DOTALL | re.MULTILINE
    )
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE) for block in found]


@dataclass
class Ledger:
    """A home of its own, what runs on it, and where it is reached."""

    home: Path
    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """As of a terminal in which nothing but the home and the address is set."""
        ours = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE"}
        kept = {name: text for name, text in os.environ.items() if name not in ours}
        return kept | {"GPU_LEDGER_HOME": str(self.home), "PUBLIC_URL": self.address}

    def start(self, verb: str) -> subprocess.Popen[bytes]:
        """`make run` and its like, in a terminal of its own."""
        with (self.folder / f"{verb}.log").open("wb") as log:
            return subprocess.Popen(
                ["make", "--no-print-directory", verb],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def type(self, line: str) -> str:
        """A line of the page, in its virtual environment; what it prints."""
        python, manage, *words = shlex.split(line)
        assert (python, manage) == ("python", "manage.py")
        ended = subprocess.run(
            [sys.executable, str(ROOT / manage), *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def answers(self) -> bool:
        """True once the pages are there."""
        try:
            return requests.get(f"{self.address}/readyz", timeout=10).ok
        except requests.RequestException:
            return False


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty home, and the three terminals of the page."""
    home = Path(mkdtemp(prefix="gpu-ledger-first-run-"))
    found = Ledger(home, free_port(), tmp_path)
    [lines] = [block for block in blocks("") if "make run" in block]
    verbs = [line.split()[1] for line in lines.splitlines()]
    assert verbs == ["run", "worker", "beat"]
    terminals = [found.start(verb) for verb in verbs]
    yield found
    for terminal in terminals:
        os.killpg(terminal.pid, signal.SIGINT)
    for terminal in terminals:
        terminal.wait(STOP_S)
    wait_until(lambda: not processes_of(str(home)), STOP_S)


@pytest.fixture
def now() -> datetime:
    """The present, to the scrape."""
    return datetime.fromtimestamp(time.time() // STEP * STEP, UTC)


@pytest.fixture
def source(tmp_path: Path, now: datetime) -> Iterator[str]:
    """A Prometheus that knows three hours of a node with two GPUs, one of them held."""
    folder = tmp_path / "prometheus"
    folder.mkdir()
    end = int(now.timestamp())
    times = range(end - 4 * 3600, end + 600, STEP)
    text = Text()
    text.node("n1", 2, times)
    text.pod("train", times, node="n1", bound=times[0])
    text.utilization("GPU-a", "n1", dict.fromkeys(times, 0.5), pod="train")
    text.utilization("GPU-b", "n1", dict.fromkeys(times, 0.0))
    with prometheus(3, text.text(), folder) as address:
        yield address


def choose_password(address: str, link: str) -> requests.Session:
    """Open the link in a browser's place; the person is signed in afterwards."""
    session = requests.Session()
    page = session.get(link, timeout=30)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token, page.text
    fields = {
        "csrfmiddlewaretoken": token[1],
        "new_password1": PASSWORD,
        "new_password2": PASSWORD,
    }
    answer = session.post(page.url, fields, headers={"Referer": page.url}, timeout=30)
    assert answer.url == f"{address}/"
    assert "Sign out" in answer.text
    return session


def test_the_page_leads_from_nothing_to_the_first_charge(
    ledger: Ledger, source: str, now: datetime
) -> None:
    wait_until(ledger.answers, 90)
    person, configure, ingest = blocks("first-steps")
    before = requests.get(f"{ledger.address}/sign-in", timeout=30).text
    assert "manage.py person NAME --role admin" in before

    out = ledger.type(person.strip())
    [link] = [line for line in out.splitlines() if line.startswith(ledger.address)]
    browser = choose_password(ledger.address, link)
    setup = browser.get(f"{ledger.address}/setup", timeout=30).text
    assert "An administrator can sign in" in setup
    assert "No source is configured" in setup

    [yaml] = blocks("yaml")
    file = yaml.replace("http://prometheus:9090", source)
    (ledger.folder / "ledger.yaml").write_text(file)
    check, apply = configure.strip().splitlines()
    assert "is valid" in ledger.type(check)
    assert "cluster north" in ledger.type(apply)

    backfill, report = ingest.strip().splitlines()
    first = (now - timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)
    last = first + timedelta(hours=2)
    days = {"2026-11-01": first.isoformat(), "2026-11-22": last.isoformat()}
    ledger.type(" ".join(days.get(word, word) for word in backfill.split()))
    assert "vision" in ledger.type(report)
    span = f"--from {first.isoformat()} --to {last.isoformat()} --format json"
    [row] = json.loads(ledger.type(f"{report} {span}"))["rows"]
    assert row["allocated_gpu_hours"] == "2.000000"
    assert row["busy_gpu_hours"] == "1.000000"
    assert row["charge"] == "4.200000"

    def is_set_up() -> bool:
        """The workers have read by themselves what came since."""
        page = browser.get(f"{ledger.address}/setup", timeout=30).text
        return "All 7 steps are done" in page

    wait_until(is_set_up, 180)
    page = browser.get(f"{ledger.address}/teams/vision", timeout=30)
    assert page.ok
    ledger.type("python manage.py verify")
