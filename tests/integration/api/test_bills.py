"""Bills over REST and on pages: a file is checked, imported, shown against our cost, made final.

Left out: what rows are matched to (tests/integration/bills/test_bills.py).
"""

import gzip
from contextlib import closing
from datetime import date, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from accounting.access.reads.billing_settings import midnight
from accounting.bills.models import Bill
from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Node
from accounting.metering.models.evidence import NodeProvider
from tests.integration.bills.billed import ARN, AWS, charge, focus
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

BILLS = "/api/v1/bills"
SAVES = "?dry_run=false"


def billed_day() -> date:
    """The newest whole day."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(billing_on) FROM usage_gpu_day")
        found: date = cursor.fetchone()[0]
        return found


@pytest.fixture
def content(story: Story, db: None) -> bytes:
    """Nodes 1 and 2 on the newest whole day, a bucket, and a formula as a name."""
    del db
    for number in (1, 2):
        NodeProvider.objects.create(
            node=Node.objects.get(name=f"gpu-{number:02d}"),
            provider_id=AWS.format(number),
            first_ms=to_ms(story.since),
            last_ms=to_ms(story.until),
        )
    day = billed_day()
    at = {
        "ChargePeriodStart": midnight(day).isoformat(),
        "ChargePeriodEnd": midnight(day + timedelta(days=1)).isoformat(),
    }
    return focus(
        charge("470.10", ARN.format(1), **at),
        charge("440.25", ARN.format(2), **at),
        charge("9.00", "bucket", ResourceName="=HYPERLINK(1)", **at),
    )


def send(
    client: Client, content: bytes, kind: str = "text/csv", query: str = ""
) -> Any:
    return client.generic("POST", BILLS + query, content, content_type=kind)


def variance_of(month: str) -> str:
    """All bills of a month."""
    return f"/api/v1/periods/{month}/bill-variance"


def test_a_request_without_a_body_says_what_to_send(sign_in: SignIn) -> None:
    refused = send(sign_in("fin"), b"")
    assert refused.status_code == 400
    assert "send the file as the body" in refused.json()["detail"]


def test_a_file_is_checked_imported_and_made_final(
    sign_in: SignIn, content: bytes
) -> None:
    fin = sign_in("fin")
    checked = send(fin, content)  # a file that is only tried is not imported
    assert checked.status_code == 200
    assert not checked.json()["is_saved"]
    [bill] = checked.json()["bills"]
    assert (bill["matched"], bill["billed"]) == ("910.350000", "919.350000")
    assert bill["unconverted_rows"] == 0
    assert not Bill.objects.exists()
    made = send(fin, gzip.compress(content), "application/gzip", SAVES)
    assert made.status_code == 201
    [bill] = made.json()["bills"]
    assert bill["rows"] == {"last_part": 2, "unknown": 1}
    at = f"{BILLS}/{bill['id']}"
    row = fin.get(at).json()
    assert (row["state"], row["matched"], row["unmatched"]) == (
        *("reconciled", "910.350000", "9.000000"),
    )
    assert fin.get(BILLS).json()["rows"] == [row]
    assert fin.get(f"{BILLS}?period=2020-01").json()["rows"] == []
    [day] = fin.get(f"{at}/variance").json()["rows"]
    assert (day["cluster"], day["billed"]) == ("north", "910.350000")
    assert float(day["variance"]) == pytest.approx(910.35 - float(day["estimated"]))
    assert fin.get(variance_of("2026-11")).json()["rows"] == [day]
    assert fin.get(variance_of("2020-01")).json()["rows"] == []
    assert fin.get(variance_of("2020-13")).status_code == 400
    listed = fin.get(f"{at}/unmatched?format=csv")
    assert "'=HYPERLINK(1)" in listed.content.decode()
    assert day["day"] == billed_day().isoformat()
    same = send(fin, gzip.compress(content, mtime=0), "application/gzip", SAVES)
    assert same.status_code in (200, 201)  # compressed at another time: another file
    latest = Bill.objects.get(replaced_at=None)
    body = {"reason": "The invoice has arrived."}
    final = fin.post(f"{BILLS}/{latest.pk}/final", body, "application/json")
    assert final.json()["state"] == "final"


def test_a_file_that_cannot_be_used_is_a_problem_document(
    sign_in: SignIn, content: bytes
) -> None:
    fin = sign_in("fin")
    wrong = send(fin, b"a,b\n1,2\n")
    assert wrong.status_code == 400
    assert "not a FOCUS file" in wrong.json()["detail"]
    faulty = send(fin, content.replace(b"470.10", b"=1+1"))
    assert faulty.status_code == 200
    assert not faulty.json()["is_saved"]
    assert faulty.json()["faults"][0]["word"] == "bad_number"
    assert send(fin, b"{}", "application/json").status_code == 415
    assert send(fin, content, query="?final=maybe").status_code == 400
    old = send(fin, content, query="?check=yes")
    assert (old.status_code, "dry_run" in old.json()["detail"]) == (400, True)
    assert not Bill.objects.exists()
    assert send(sign_in("luis"), content).status_code == 404


def test_a_small_file_that_unpacks_to_very_many_lines_is_refused(
    sign_in: SignIn, content: bytes
) -> None:
    """Blank lines too; other bounds are in `bills/test_large_files.py`."""
    packed = gzip.compress(content + b"\n" * 2_000_001)
    assert len(packed) < 10_000
    refused = send(sign_in("fin"), packed, "application/gzip")
    assert refused.status_code == 400
    assert "more than 2,000,000 lines" in refused.json()["detail"]


def test_an_import_does_not_wait_for_another_one(
    sign_in: SignIn, content: bytes
) -> None:
    ana = sign_in("ana")
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(7113, 0)")  # accounting/kit/locks.py
        refused = send(sign_in("fin"), content)
        file = SimpleUploadedFile("november.csv", content, "text/csv")
        page = ana.post("/bills/new", {"file": file})
    for answer in (refused, page):
        assert answer.status_code == 409
        assert answer["Retry-After"] == "30"
    assert "another file is being imported" in refused.json()["detail"].lower()
    assert "Another file is being imported" in html_of(page)
    assert send(sign_in("fin"), content).status_code == 200


def test_a_check_says_that_nothing_can_be_converted(
    sign_in: SignIn, content: bytes
) -> None:
    """There is no conversion from GBP: no amount in the billing currency is known."""
    fin, foreign = sign_in("fin"), content.replace(b",EUR,", b",GBP,")
    [bill] = send(fin, foreign).json()["bills"]
    assert (bill["bill_currency"], bill["cost"]) == ("GBP", "919.350000")
    assert (bill["billed"], bill["unconverted_rows"]) == (None, 3)
    file = SimpleUploadedFile("november.csv", foreign, "text/csv")
    page = fin.post("/bills/new", {"file": file, "check": "yes"})
    assert "no conversion for 3 rows" in " ".join(html_of(page).split())


def test_pages_import_and_show_a_bill(sign_in: SignIn, content: bytes) -> None:
    ana = sign_in("ana")
    assert "No bill" in html_of(ana.get("/bills"))

    def post(content: bytes, **more: str) -> Any:
        file = SimpleUploadedFile("november.csv", content, "text/csv")
        return ana.post("/bills/new", {"file": file} | more, follow=True)

    checked = post(content, check="yes")
    assert "What an import would do" in html_of(checked)
    assert not Bill.objects.exists()
    faulty = post(content.replace(b"440.25", b"x"))
    assert faulty.status_code == 422
    assert "Line" in html_of(faulty)
    page = html_of(post(content))
    assert "The bill is imported." in page
    assert "2 of 4" in page  # nodes of this model
    assert "910.35" in page
    assert "=HYPERLINK(1)" in page
    assert 'href="/bills/months/2026-10"' in page
    together = html_of(ana.get("/bills/months/2026-11"))  # that of the charges
    assert "2 of 4" in together
    assert together.count("910.35") >= 2  # the sum and its day
    assert "Nothing is matched" in html_of(ana.get("/bills/months/2020-01"))
    assert ana.get("/bills/months/2020-13").status_code == 404
    assert "imported before" in html_of(post(content))
    number = Bill.objects.get().pk
    again = ana.post(f"/bills/{number}/match", follow=True)
    assert "Nothing has changed." in html_of(again)
    assert ana.post(f"/bills/{number}/final", {"reason": "short"}).status_code == 422
    final = ana.post(
        f"/bills/{number}/final", {"reason": "The invoice has arrived."}, follow=True
    )
    assert "The bill is final." in html_of(final)
    assert "Final" in html_of(ana.get("/bills"))
    assert sign_in("luis").get("/bills").status_code == 404
