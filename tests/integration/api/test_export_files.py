"""A file over REST: requested, followed, downloaded whole and in parts (money.md M46, M47).

Committed, because a worker stores progress on a connection of its own. Not here: rights
(test_money_writes.py), and what files contain (tests/integration/exports).
"""

import hashlib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from accounting.exports.tasks.jobs import next_job, run_job
from accounting.months.tasks.close import close_period
from accounting.organization.actions.tokens import SCOPES, create_token
from tests.integration.api.conftest import problem
from tests.integration.api.contract import CheckedClient
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

pytestmark = pytest.mark.django_db(transaction=True)
BODY = {"what": "charges", "period": "2026-10"}
EXPORTS = "/api/v1/exports"


def test_a_file_is_requested_followed_and_downloaded(
    tmp_path: Path, settings: Any
) -> None:
    settings.EXPORT_FOLDER = tmp_path
    days = Days()
    days.price(H100, "1.234567")
    days.use("vision", date(2026, 10, 5), 378_001)
    days.use("search", date(2026, 10, 6), 1_000_003)
    payable = close_period("2026-10").payable
    _, secret = create_token(owner=person("fin"), name="files", scopes=SCOPES)
    fin = CheckedClient(headers={"Authorization": f"Bearer {secret}"})

    def request() -> Any:
        key = {"Idempotency-Key": "file-1"}
        return fin.post(EXPORTS, BODY, content_type="application/json", headers=key)

    made, again = request(), request()
    assert made.status_code == 201, made.content
    address = made.headers["Location"]
    assert (again.json(), again.headers["Location"]) == (made.json(), address)
    assert fin.get(address).json()["state"] == "queued"
    early = fin.get(f"{address}/file")
    assert problem(early)["status"] == 409
    job = next_job()
    assert job is not None
    assert run_job(job)
    done = fin.get(address).json()
    assert done["state"] == "done"
    file = fin.get(f"{address}/file", headers={"Accept": "text/csv"})
    content = file.getvalue()
    assert hashlib.sha256(content).hexdigest() == done["sha256"]
    assert file.headers["ETag"] == f'"{done["sha256"]}"'
    assert (len(content), content.count(b"\n")) == (done["size"], done["row_count"] + 1)
    rest = fin.get(f"{address}/file", headers={"Range": "bytes=100-"})
    assert (rest.status_code, rest.getvalue()) == (206, content[100:])
    known = {"If-None-Match": file.headers["ETag"]}
    same = fin.get(f"{address}/file", headers=known)
    assert same.status_code == 304
    for answer in (file, rest, same):
        assert answer.headers["Cache-Control"] == "private, no-store"
    outside = fin.get(f"{address}/file", headers={"Range": "bytes=999999999-"})
    assert problem(outside)["status"] == 416
    job.refresh_from_db()
    [shown] = fin.get("/api/v1/charges?period=2026-10&by=").json()["rows"]
    assert shown["charge"] == job.metadata["sum"] == f"{payable:.6f}"
    (tmp_path / str(job.pk) / done["file_name"]).unlink()
    assert problem(fin.get(f"{address}/file"))["status"] == 410
