"""An amount is explained to the cent, however many prices, teams and workloads made it.

Covers the page and the drawer of a charge, an idle cost and the ledger against the tables
and the API. Leaves out how one price is chosen: `test_price.py`.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Person
from tests.euros import added, number
from tests.integration.prices.books import TEN, Books
from tests.page_html import html_of

MODELS, TEAMS = 27, 23
WINDOW = timedelta(minutes=5)
RANGE = "from=2026-10-06&to=2026-10-07"


def set_up(currency: str) -> str:
    """27 models of which one has no price; every other one costs less where it is spot."""
    prices = "\n".join(
        f'  - {{model: M-{n:02}, rate_per_gpu_hour: "{n // 3}.{n * 37 % 1000:03}7{n % 9}"}}\n'
        f'  - {{model: M-{n:02}, lifecycle: spot, rate_per_gpu_hour: "0.{n:02}333{n % 7}"}}'
        for n in range(1, MODELS)
    )
    teams = ", ".join(f"{{slug: t{n}, name: T{n}}}" for n in range(TEAMS))
    rules = "\n".join(f"  - {{namespace: s{n}, team: t{n}}}" for n in range(TEAMS))
    return (
        f"billing: {{currency: {currency}, timezone: UTC}}\nteams: [{teams}]\n"
        f"bindings:\n{rules}\nprices:\n{prices}\n"
    )


@pytest.fixture
def currency() -> str:
    """What the books are in."""
    return "EUR"


@pytest.fixture
def client(books: Books, currency: str) -> Iterator[Client]:
    """An administrator of books with 52 prices, 23 teams and 54 workloads."""
    books.configure(set_up(currency))
    with books.together():
        for n in range(MODELS):
            for life in ("on-demand", "spot"):
                gpu = books.gpu(f"GPU-{n:02}-{life}", model=f"M-{n:02}", lifecycle=life)
                pod = books.pod(f"w{n}-{life}", space=f"s{n % TEAMS}")
                busy, idle = 100_003 + 997 * n, 61_007 + 31 * n * (life == "spot")
                books.write(
                    gpu, TEN, pod, busy=busy, idle=idle, unknown=300_000 - busy - idle
                )
                books.write(gpu, TEN + WINDOW, free=299_999 - n, stray=n + 1)
    books.settle()
    user = get_user_model().objects.create_user("ana")
    Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    with time_machine.travel(TEN + timedelta(days=2), tick=False):
        yield client


class _Cells(HTMLParser):
    """The texts of the cells of each table row, and whose foot a row is in."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.is_in = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"} and self.rows:
            self.rows[-1].append("")
            self.is_in = True

    def handle_endtag(self, tag: str) -> None:
        self.is_in = self.is_in and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self.is_in:
            self.rows[-1][-1] += data


def table(html: str, label: str) -> list[list[str]]:
    """The rows of the table in the group with this label, its head left out."""
    part = html.split(f'aria-label="{label}"', 1)[1].split("</table>", 1)[0]
    rows = [[" ".join(cell.split()) for cell in row] for row in _Cells(part).rows]
    return rows[1:]


def money(text: str) -> Decimal:
    """`€1,234.56`, `¥1,234`; what has no price is nothing."""
    return Decimal(0) if text == "No price" else Decimal(re.sub("[€¥,]", "", text))


def headline(html: str) -> Decimal:
    """The figure that the formula ends with."""
    found = re.search(r'class="result">.* = ([\d,.]+) [A-Z]{3}<', html)
    assert found is not None
    return Decimal(found[1].replace(",", ""))


PRICES = "Prices that took part"


@pytest.mark.parametrize("figure", ["charge", "idle_charge"])
def test_all_prices_are_listed_and_add_up_to_the_figure(
    client: Client, figure: str
) -> None:
    page = html_of(client.get(f"/explain?what={figure}&{RANGE}"))
    *lines, total = table(page, PRICES)
    amounts = [money(line[3]) for line in lines]
    assert len(lines) == 2 * MODELS
    assert total[0] == "Total"
    assert sum(amounts) == money(total[3]) == headline(page)
    assert amounts == sorted(amounts, reverse=True)
    assert [line[3] for line in lines].count("No price") == 2
    assert "GPU-h have no price and are not included in any amount" in page


def test_the_figure_is_that_of_tables_and_of_the_api(client: Client) -> None:
    page = html_of(client.get(f"/explain?what=charge&{RANGE}"))
    for path in ("/", "/teams"):
        shown = client.get(f"{path}?{RANGE}").context["teams"]
        assert number(shown.total.charge) == headline(page)
        lines = [*shown.lines, shown.rest] if shown.rest else shown.lines
        assert (shown.rest is not None) == (path == "/")
        assert added(line.row.charge for line in lines) + number(
            shown.rounding.charge
        ) == headline(page)
    rows = client.get(f"/api/v1/usage?by=&{RANGE}").json()["rows"]
    assert round(Decimal(rows[0]["charge"]), 2) == headline(page)
    split = client.get(f"/?{RANGE}").context["split"]
    assert split.rest is not None
    assert (
        added(line.row.charge for line in split.lines)
        + number(split.rest.charge)
        + number(split.rounding.charge)
        == number(split.total.charge)
        == headline(page)
    )


def test_the_drawer_names_what_it_leaves_out(client: Client) -> None:
    address = f"/explain?what=charge&{RANGE}"
    drawer = html_of(client.get(address, headers={"HX-Request": "true"}))
    *lines, rest, total = table(drawer, PRICES)
    assert len(lines) == 15
    assert rest[0] == f"{2 * MODELS - 15} more prices"
    assert f'href="{address.replace("&", "&amp;")}"' in drawer
    shown = sum(money(line[3]) for line in lines)
    assert shown + money(rest[3]) == money(total[3]) == headline(drawer)


def test_the_ledger_adds_up_by_state_and_by_price(client: Client) -> None:
    page = html_of(client.get(f"/explain?what=ledger&{RANGE}"))
    *states, total = table(page, "The seven states")
    assert [state[0] for state in states][:3] == ["Busy", "Idle", "Unknown"]
    assert sum(money(state[3]) for state in states) == money(total[3])
    *lines, of_prices = table(page, PRICES)
    assert (
        sum(money(line[3]) for line in lines) == money(of_prices[3]) == money(total[3])
    )
    assert sum(int(state[2].replace(",", "")) for state in states) == int(
        total[2].replace(",", "")
    )
    card = client.get(f"/?{RANGE}").context["ledger"]
    assert added(word.charge for word in card.groups) == money(total[3])


def test_a_team_of_a_list_is_explained_by_its_own_prices(client: Client) -> None:
    page = html_of(client.get(f"/explain?what=charge&team=t3&{RANGE}"))
    *lines, total = table(page, PRICES)
    assert len(lines) == 4  # M-03 and M-26, each on demand and spot
    assert sum(money(line[3]) for line in lines) == money(total[3]) == headline(page)


@pytest.mark.parametrize("currency", ["JPY"])
def test_yen_have_no_places(client: Client) -> None:
    page = html_of(client.get(f"/explain?what=charge&{RANGE}"))
    *lines, total = table(page, PRICES)
    amounts = [money(line[3]) for line in lines]
    assert sum(amounts) == money(total[3]) == headline(page)
    assert all("." not in line[3] for line in lines)
    assert f"{headline(page):,} JPY" in page
