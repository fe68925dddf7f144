"""The settings of bills are read once for a report, a page and an answer over REST.

Not here: how many queries a page makes (`tests/integration/views/test_numbers.py`).
"""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounting.booking.close import close_period
from accounting.models import Person
from tests.integration.accounting.rating.books import Books
from tests.integration.accounting.rating.test_booked_days import OCTOBER, use
from tests.integration.accounting.support import report

DAYS = {"from": "2026-10-01", "to": "2026-11-10"}


def reads(captured: CaptureQueriesContext) -> int:
    return sum('FROM "accounting_billing"' in one["sql"] for one in captured)


@pytest.mark.parametrize("kind", ["usage", "ledger"])
def test_a_report_reads_them_once(books: Books, kind: str) -> None:
    use(books)
    close_period(OCTOBER)
    with CaptureQueriesContext(connection) as captured:
        report(kind, by="day", **DAYS)
    assert reads(captured) == 1


def test_an_answer_over_rest_reads_them_once(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    user = get_user_model().objects.create_user("ana")
    Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    with CaptureQueriesContext(connection) as captured:
        answer = client.get("/api/v1/explanation", {"what": "charge", **DAYS})
    assert answer.status_code == 200
    assert reads(captured) == 1
