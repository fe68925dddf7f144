"""The recipes of `docs/recipes.md`, in order, against a server, as a person would run them.

Workers write files and close the month while they run. Not here: the addresses one by one
(test_booked_money.py, test_closing.py, test_money_writes.py).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import time_machine

from accounting.access.models.people import OrganizationRole
from accounting.metering.models.cluster import Cluster
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.running import book_running
from accounting.organization.actions.tokens import SCOPES, create_token
from accounting.tasks import close_months, write_exports
from scheduler_view.tasks import compute_what_ifs
from tests.integration.conftest import NOW
from tests.integration.months.days import H100, Days
from tests.integration.months.people import lead_of, person
from tests.integration.what_if.test_recorded_weeks import Recorded

PAGE = Path(__file__).resolve().parents[3] / "docs" / "recipes.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LONGEST_S = 60
EXPECTED = 14  # blocks: the page was read

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl"),
]


@pytest.fixture(autouse=True)
def november() -> Iterator[None]:
    """October can be closed."""
    with time_machine.travel(NOW):
        yield


def token_of(name: str) -> str:
    return create_token(owner=person(name), name="recipes", scopes=SCOPES)[1]


def executed(kind: str, text: str, folder: Path, environment: dict[str, str]) -> str:
    """The output of a block; an error fails. Workers write its files and close its month."""
    command = [sys.executable, "-c", text] if kind == "python" else ["sh", "-ec", text]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=-1, stderr=-1
    )
    until = time.perf_counter() + LONGEST_S
    try:
        while process.poll() is None and time.perf_counter() < until:
            write_exports()
            close_months()
            compute_what_ifs()
            time.sleep(0.02)
    finally:
        process.kill()
        out, err = process.communicate()
    assert process.returncode == 0, f"{text}\n{out}\n{err}"
    return out


def test_every_recipe_runs(live_server: Any, tmp_path: Path, settings: Any) -> None:
    settings.EXPORT_FOLDER = tmp_path / "jobs"
    days = Days()
    days.price(H100, "1.234567")
    days.use("vision", date(2026, 10, 5), 378_001)
    days.use("search", date(2026, 10, 6), 1_000_003, state="idle")
    days.use("vision", date(2026, 10, 6), 3_600_000, model="NVIDIA-A10")  # no price
    days.use("vision", date(2026, 11, 5), 3_600_000)
    amount = book_running("2026-10").payable
    payable = f"{amount:.2f}"  # as it is paid; charges have six places
    environment = {
        "PATH": os.environ["PATH"],
        "GPU_LEDGER": live_server.url,
        "GPU_LEDGER_TOKEN": token_of("fin"),
        "SECOND_TOKEN": token_of("ana"),
        "ADMIN_TOKEN": token_of(person("omar", OrganizationRole.ADMIN).username),
        "LEAD_TOKEN": token_of(lead_of("vision", "luis").username),
        "no_proxy": "*",
    }
    outputs = []
    for kind, text in BLOCK.findall(PAGE.read_text()):
        if text.startswith("# ledger.py\n"):
            (tmp_path / "ledger.py").write_text(text)
            continue
        if "what-ifs" in text:
            _record_weeks()
        outputs.append(executed(kind, text, tmp_path, environment))
    assert len(outputs) == EXPECTED
    (
        frame,
        checks,
        overridden,
        _,
        closed,
        asked,
        again,
        sums,
        _,
        contest,
        credit,
        file,
        what_if,
        explained,
    ) = outputs
    assert f"total {amount:.6f}" in " ".join(frame.split())
    assert json.loads(checks)["blocks"]
    assert "/prices" in overridden
    stored = PeriodRevision.objects.get(period="2026-10")
    assert stored.hash in closed
    assert "of 2026-10 waits for another person" in asked
    assert again.strip() == "304"
    assert sums.split() == [payable, payable, f"{amount:.6f}"]
    assert json.loads(contest)["team"] == "vision"
    assert json.loads(credit)["twin_amount"] == "12.500000"
    assert Entry.objects.count() == 1
    name = f"gpu-ledger_focus-1.4_2026-10_r{stored.revision}.csv"
    assert name in file
    assert (tmp_path / name).exists()
    assert what_if.splitlines()[0].strip() == "done calibrated"
    assert "8 more; mean wait in minutes; -270.0; -270.0; yes" in what_if
    assert "8 more; cost of installed GPUs a week; 3360.00; 3360.00; yes" in what_if
    assert "2026-10 revision 1 alloc-v1" in explained


def _record_weeks() -> None:
    """In each of two weeks a unit waits nine hours for another."""
    Cluster.objects.filter(name="north").update(name="south")
    recorded = Recorded("north", "what-if")
    for week in range(2):
        recorded.hold(168 * week, 168 * week, 10)
        recorded.hold(168 * week + 1, 168 * week + 10, 10)
