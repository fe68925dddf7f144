"""Closed days in euros and open days in dollars have no sum, and pages say so (money.md M16).

Not here: two currencies on open days only (`test_price.py`).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Person
from accounting.access.reads.teams import TeamRef
from accounting.core.ledger_line import STATES
from accounting.core.money import Money
from accounting.fleet.pages.gpu_money import earnings
from accounting.kit.tags.units import charge
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Pod
from accounting.months.tasks.close import close_period
from accounting.prices.models.price import UnitPrice
from accounting.usage.rules.rows import LedgerRow, UsageRow
from tests.integration.metering.support import report
from tests.integration.months.people import lead_of
from tests.integration.prices.books import WINDOW, Books
from tests.integration.usage.test_booked_days import OCTOBER, use
from tests.page_html import html_of

BOTH = "from=2026-10-01&to=2026-11-09"
A_WEEK = "from=2026-10-29&to=2026-11-04"  # lists of GPUs show seven days at most
CLOSED = "from=2026-10-01&to=2026-10-31"
USED = datetime(2026, 11, 3, 10, tzinfo=UTC)
DAY = timedelta(days=1)
SENTENCE = "are in several currencies, which are not added"


@pytest.fixture
def client(books: Books) -> Iterator[Client]:
    """October is closed in euros; team a also held a GPU in November, at a rate in dollars."""
    use(books)
    gpu, stray = Gpu.objects.get(uuid="GPU-0"), books.pod("stray", space="nobody")
    for at in (USED - 4 * DAY, USED):  # the last days of October, and November
        books.write(gpu, at + WINDOW, stray, busy=60_000, idle=30_000)
        books.write(gpu, at + WINDOW, Pod.objects.get(name="train"), busy=20_000)
        books.write(gpu, at + WINDOW, free=190_000)
    books.settle()
    close_period(OCTOBER)
    UnitPrice.objects.all().delete()
    UnitPrice.objects.create(
        model="NVIDIA-L40S",
        currency="USD",
        rate_per_gpu_hour=Decimal(2),
        valid_from=datetime(2026, 10, 31, 23, tzinfo=UTC),
    )
    DirtyHour.objects.create(
        cluster_id=Cluster.objects.get().pk,
        hour_start=USED,
        marked_at=USED,
        reason="facts",
    )
    books.settle()
    user = get_user_model().objects.create_user("ana")
    Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    with time_machine.travel(datetime(2026, 11, 10, 12, tzinfo=UTC), tick=False):
        yield client


@pytest.mark.parametrize("path", ["/", "/teams", "/teams/a"])
def test_a_total_leaves_out_no_currency(client: Client, path: str) -> None:
    """The total was that of the teams with one currency, and did not say so."""
    answer = client.get(f"{path}?{BOTH}")
    assert SENTENCE in html_of(answer)
    if "teams" in answer.context:
        assert answer.context["teams"].total.charge is None
    assert SENTENCE not in html_of(client.get(f"{path}?{CLOSED}"))


@pytest.mark.parametrize("path", ["/", "/teams", "/teams/a", "/teams/a/workloads"])
def test_cells_without_a_sum_say_so_and_open_the_sums(
    client: Client, path: str
) -> None:
    """They read "No price", as if a price were missing."""
    page = html_of(client.get(f"{path}?{BOTH}"))
    assert "No price" not in page
    cells = re.findall(r'<a class="num"[^>]*href="([^"]+)"[^>]*>2 currencies<', page)
    cells += re.findall(r'<a class="fig"[^>]*href="([^"]+)"[^>]*>2 currencies<', page)
    assert cells
    for address in map(unescape, cells):
        sums = html_of(client.get(address))
        assert "No price" not in sums
        assert "€" in sums
        assert (
            "$" in sums or "what=idle_charge" in address
        )  # a was busy at the rate in dollars


def test_rest_has_no_amount_and_no_unpriced_time(client: Client) -> None:
    found = client.get("/api/v1/usage?by=team&from=2026-10-01&to=2026-11-10").json()
    rows = {row["team"]: row for row in found["rows"]}
    assert (rows["a"]["charge"], rows["a"]["currency"]) == (None, None)
    assert rows["a"]["unpriced_gpu_hours"] == "0.000000"
    assert rows["b"]["currency"] == "EUR"
    assert rows["b"]["charge"] is not None


def test_an_explanation_has_the_sum_of_each_currency(client: Client) -> None:
    page = html_of(client.get(f"/explain?what=charge&team=a&{BOTH}"))
    [october] = report("usage", by="", team="a", to="2026-11-01")
    euros = round(Decimal(october["charge"]), 2)
    assert f"2026-10 r1 + other time = {euros} EUR + 0.07 USD" in page


def test_the_list_of_gpus_says_so(client: Client) -> None:
    """A lead sees what the GPUs that the team held are charged."""
    client.force_login(lead_of("a", "lea"))
    page = html_of(client.get(f"/gpus/table?{A_WEEK}"))
    assert "2 currencies" in page
    assert "No price" not in page


def test_payers_of_a_gpu_say_so() -> None:
    """Team a in two currencies, b in one; the total and the platform have no sum either."""
    held = ("a", 1, "EUR"), ("a", 2, "USD"), ("b", 3, "EUR")
    pods = [
        UsageRow(
            *(1, 1, 1),
            key={"team": team},
            charge=Money(Decimal(amount), currency),
            idle_charge=None,
            estimated=False,
        )
        for team, amount, currency in held
    ]
    teams = {slug: TeamRef(1, slug, slug, "", 1) for slug in "ab"}
    none = dict.fromkeys(STATES)
    ledger = LedgerRow({}, dict.fromkeys(STATES, 3), none, currencies=("EUR", "USD"))
    found = earnings(pods, ledger, teams, 2)
    shown = {line.name: charge(line, "EUR") for line in found.lines}
    assert shown == {"a": "2 currencies", "b": "€3.00", "Platform": "2 currencies"}
    assert charge(found, "EUR") == "2 currencies"


def test_a_namespace_without_a_team_says_so(client: Client) -> None:
    page = html_of(client.get(f"/attribution?{BOTH}"))
    assert "2 currencies" in page
    assert "No price" not in page
