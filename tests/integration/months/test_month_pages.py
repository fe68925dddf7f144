"""Pages of months, statements and charges: numbers, forms, and who sees them."""

import re
from collections.abc import Iterator
from csv import DictReader
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
import time_machine
from django.db.models import F
from django.test import Client

from accounting.core.money import Money
from accounting.kit.reads.database_clock import database_now
from accounting.kit.tags import units
from accounting.months.models.charge import RunningLine
from accounting.months.models.close import CloseOverride
from accounting.months.models.close_request import CloseRequest
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.close_requests import LIFETIME
from accounting.months.rules.check_words import CHECK_TITLES
from accounting.months.rules.close_checks import RULES, CloseCheck
from accounting.months.tasks.close import close_period
from accounting.months.tasks.keep import book_changed
from accounting.months.tasks.running import book_running
from accounting.prices.models.price import UnitPrice
from accounting.tasks import close_months
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

REASON = "agreed in the monthly review"


@pytest.fixture(autouse=True)
def right_after_the_story(story: Story, db: None) -> Iterator[None]:
    """The process clock does not move; the story's newest window has just ended."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        yield


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    html = html_of(client.get(path))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_before_anything_is_booked_pages_say_so(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    assert "Not booked" in text_of(fin, "/months")
    assert "Nothing is booked yet" in text_of(fin, "/months/2026-11")
    assert "Nothing is booked yet" in text_of(fin, "/charges")
    asked = text_of(fin, "/charges?period=2026-11")
    assert "Charges of November 2026" in asked
    assert "Nothing is booked yet" in asked
    assert fin.get("/charges?period=2019-01").status_code == 404
    assert fin.get("/months/2019-01").status_code == 404
    assert fin.get("/statements/vision/2026-11").status_code == 404


def test_the_months_page_says_what_is_next_and_what_blocks_it(sign_in: SignIn) -> None:
    october = book_running("2026-10")
    page = text_of(sign_in("fin"), "/months")
    assert "Next to close: October 2026" in page
    assert "block the close" in page
    assert units.money(october.payable, "EUR") in page


def test_every_check_has_a_title() -> None:
    assert CHECK_TITLES.keys() == RULES.keys()


def test_statements_add_up_to_the_payable_of_the_month(sign_in: SignIn) -> None:
    booked = book_running("2026-11")
    page = text_of(sign_in("fin"), "/months/2026-11")
    for one in booked.statements.all():
        assert units.money(one.payable, "EUR") in page
    total = sum((one.payable for one in booked.statements.all()), Decimal(0))
    assert total == booked.payable
    assert units.money(booked.payable, "EUR") in page


def test_a_statement_opens_to_families_that_come_to_its_payable(
    sign_in: SignIn,
) -> None:
    """Of running lines and of frozen ones, each amount as the lines of the team have it."""
    close_period("2026-10")
    book_running("2026-11")
    fin = sign_in("fin")
    for month in ("2026-10", "2026-11"):
        statements = Statement.objects.filter(revision__period=month)
        opening = [one for one in statements if one.team != "platform"]
        assert len(opening) > 5
        for one in opening:
            answer = fin.get(f"/months/{month}?open={one.team}")
            opened = answer.context["opened"]
            rows = [*(amount for _, amount in opened.rows), *dict(opened.rest).values()]
            assert sum(row.amount for row in rows) == one.payable
            exact = sum(family.item.amount.amount for family, _ in opened.rows)
            assert exact == one.own6
            assert sum(f.item.ms for f, _ in opened.rows) == (
                one.busy_ms + one.idle_ms + one.unknown_ms
            )
            html = html_of(answer)
            assert f'aria-label="Families of {opened.row.name}"' in html
    vision = html_of(fin.get("/months/2026-11?open=vision"))
    assert re.search(
        r'href="\?#statements-title" aria-expanded="true" aria-label="Families of Vision"',
        vision,
    )
    assert 'href="/teams/vision/families/' in vision
    for nobody in ("nobody", "", "platform%27"):
        assert fin.get(f"/months/2026-11?open={nobody}").context["opened"] is None


def test_the_waterfall_of_a_month_is_its_statements(sign_in: SignIn) -> None:
    booked = book_running("2026-11")
    answer = sign_in("fin").get("/months/2026-11")
    steps = [step for step, _ in answer.context["waterfall"]]
    added = sum(one.amount.amount for one in steps if not one.is_sum)
    assert added == booked.payable == steps[-1].amount.amount
    page = html_of(answer)
    for one in steps:
        assert units.money(one.amount) in page
    assert f"What adds up to {units.money(booked.payable, 'EUR')}" in page


def test_every_way_to_divide_charges_has_the_same_total(sign_in: SignIn) -> None:
    booked = book_running("2026-11")
    fin = sign_in("fin")
    for by in ("team", "model", "tier", "namespace", "workload", "day", "state"):
        page = text_of(fin, f"/charges?period=2026-11&by={by}")
        assert units.money(booked.payable, "EUR") in page, by
    assert fin.get("/charges?by=colour").status_code == 400


def test_charges_are_in_cents_that_add_up_and_named_in_words(sign_in: SignIn) -> None:
    book_running("2026-11")
    client = sign_in("fin")
    page = text_of(client, "/charges?by=workload")
    assert "Charges of November 2026, revision 1" in page
    assert "Open" in page
    assert not re.search(r"\d\.\d{6}", page)
    context = client.get("/charges?by=workload&rows=250").context
    cells = [line["charge"] for line in context["page"].lines]
    assert all(cell == round(cell, 2) for cell in cells)
    assert sum(cells) == context["total"]["charge"]


def test_charges_are_in_words_and_dates_of_other_pages(sign_in: SignIn) -> None:
    """They had "usage", "platform", "2026-11" and "Nov. 20, 2026"."""
    book_running("2026-11")
    fin = sign_in("fin")
    kinds = fin.get("/charges?by=state").context["page"].lines
    words = {tuple(line["fields"]) for line in kinds}
    assert {("Usage", "Busy"), ("Held by nobody", "Free"), ("Rounding", "")} <= words
    by_day = html_of(fin.get("/charges?by=day"))
    assert "20 Nov 2026" in by_day
    assert "Nov. " not in by_day
    assert re.search(r'<option value="2026-11" selected>\s*November 2026', by_day)


def test_each_check_that_fails_leads_to_where_it_is_mended(sign_in: SignIn) -> None:
    book_running("2026-11")
    client = sign_in("fin")
    answer = client.get("/months/2026-11")
    html = html_of(answer)
    assert "<code>settled</code>" not in html
    links = {check.code: check.link for check, *_ in answer.context["checks"]}
    assert links["over"] == links["settled"] == ""  # only time mends these
    for code, link in links.items():
        if link:
            path, _, place = link.partition("#")
            page = client.get(path)
            assert page.status_code == 200, code
            assert f'id="{place}"' in page.content.decode() or not place, code
    assert links["moved"] == "/?from=2026-11-01&to=2026-12-01"


def test_a_statement_shows_its_method_and_why_its_sum_is_the_payable(
    sign_in: SignIn,
) -> None:
    book_running("2026-10")
    booked = book_running("2026-11")
    vision = booked.statements.get(team="vision")
    page = text_of(sign_in("luis"), "/statements/vision/2026-11")
    assert "Open" in page
    assert "has no number yet" in page
    assert units.money(vision.payable, "EUR") in page
    assert "By allocation" in page
    html = html_of(sign_in("luis").get("/statements/vision/2026-11"))
    assert "/explain?what=charge&amp;team=vision&amp;from=2026-11-01" in html
    assert 'href="/teams/vision/rules"' in html
    assert "Not booked" not in page  # the month before is
    platform = text_of(sign_in("fin"), "/statements/platform/2026-11")
    assert "a few cents below zero" in platform


def test_leads_read_their_statements_and_charges_and_no_others(
    sign_in: SignIn,
) -> None:
    book_running("2026-11")
    luis, mia = sign_in("luis"), sign_in("mia")  # a lead and a viewer of vision
    assert luis.get("/statements/vision/2026-11").status_code == 200
    assert luis.get("/statements/search/2026-11").status_code == 404
    assert luis.get("/statements/platform/2026-11").status_code == 404
    assert luis.get("/charges?team=search").status_code == 404
    page = text_of(luis, "/charges?by=workload")
    assert "Search" not in page.split("GPU-h Amount")[1].split("Payable")[0]
    assert 'href="/statements/vision/2026-11"' in html_of(luis.get("/charges"))
    assert mia.get("/statements/vision/2026-11").status_code == 403
    assert luis.get("/months").status_code == 403


def test_files_are_of_the_team_for_its_lead(sign_in: SignIn) -> None:
    booked = book_running("2026-11")
    luis, fin = sign_in("luis"), sign_in("fin")
    address = "/months/2026-11/files/charges"
    assert luis.get(address).status_code == 404
    assert luis.get(f"{address}?team=search").status_code == 404
    mine = b"".join(luis.get(f"{address}?team=vision").streaming_content)  # type: ignore[attr-defined]
    assert mine.count(b"\n") == booked.running_lines.filter(team="vision").count() + 1
    everything = fin.get(address)
    assert "gpu-ledger_charges_2026-11_running.csv" in everything["Content-Disposition"]
    lines = b"".join(everything.streaming_content)  # type: ignore[attr-defined]
    assert lines.count(b"\n") == booked.line_count + 1
    assert fin.get(f"{address}?format=pdf").status_code == 400
    names = {
        fin.get(f"/months/2026-11/files/focus?profile={one}")["Content-Disposition"]
        for one in ("focus-1.4", "focus-1.2")
    }
    assert len(names) == 2
    assert all("focus-1." in one for one in names)
    assert fin.get("/months/2026-11/files/everything").status_code == 404


def test_a_month_is_closed_with_overrides_of_two_people(sign_in: SignIn) -> None:
    fin, ana = sign_in("fin"), sign_in("ana")
    address = "/months/2026-10"
    fin.post(f"{address}/close")
    close_months()
    refused = text_of(fin, address)
    assert "fin requested the close at" in refused
    assert "It was refused, because checks blocked it" in refused
    blocking = [one.code for one in _checks(fin, address) if one.is_blocking]
    assert blocking
    for code in blocking:
        fin.post(f"{address}/override", {"check": code, "reason": REASON})
    for one in CloseOverride.objects.all():
        own = fin.post(f"{address}/confirm", {"number": one.pk}, follow=True)
        assert "another person must confirm" in html_of(own)
        ana.post(f"{address}/confirm", {"number": one.pk})
    fin.post(f"{address}/close")
    close_months()
    closed = PeriodRevision.objects.get(period="2026-10")
    assert closed.is_closed, [c for c in _checks(fin, address) if c.is_blocking]
    page = text_of(fin, address)
    assert closed.hash in page
    assert "Closed" in page
    assert REASON in text_of(fin, "/statements/vision/2026-10")


def test_a_month_that_is_being_closed_says_so_until_it_is_closed(
    sign_in: SignIn,
) -> None:
    fin, ana = sign_in("fin"), sign_in("ana")
    address = "/months/2026-10"
    part = {"HX-Request": "true", "HX-Target": "closing"}
    book_running("2026-10")
    fin.post(f"{address}/close")
    for client in (fin, ana):
        page = text_of(client, address)
        assert "fin requested the close at" in page
        assert "Close this month" not in page
    assert "fin requested it at" in text_of(ana, "/months")
    twice = ana.post(f"{address}/close", follow=True)
    assert "Fin requested the close of 2026-10 at" in html_of(twice)
    shown = html_of(fin.get(address, headers=part))
    assert 'hx-trigger="every 1s"' in shown
    assert "A worker starts it in a moment." in shown
    CloseRequest.objects.update(attempt=2)
    assert "start 2, after an earlier worker stopped" in text_of(fin, address)
    CloseRequest.objects.update(
        attempt=0, requested_at=database_now() - timedelta(minutes=1)
    )
    assert "No worker has started yet." in text_of(fin, address)
    close_months()
    ended = fin.get(address, headers=part)
    assert (ended.headers["HX-Refresh"], ended.content) == ("true", b"")


def test_a_close_that_failed_or_expired_says_what_to_do(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    fin.post("/months/2026-10/close")
    CloseRequest.objects.update(requested_at=database_now() - LIFETIME)
    page = text_of(fin, "/months/2026-10")
    assert "It expired: no worker closed the month within an hour" in page
    assert "Close this month" in page
    CloseRequest.objects.update(state="failed", error="workers stopped 3 times")
    assert "It failed: workers stopped 3 times." in text_of(fin, "/months/2026-10")


def _checks(client: Client, address: str) -> list[CloseCheck]:
    response = client.get(address)
    return [check for check, *_ in response.context["checks"]]


def test_a_short_reason_is_refused_on_the_page(sign_in: SignIn) -> None:
    book_running("2026-10")
    refused = sign_in("fin").post(
        "/months/2026-10/override", {"check": "coverage", "reason": "no"}
    )
    assert refused.status_code == 422
    assert "at least 10 characters" in html_of(refused)


def test_the_latest_closed_month_is_opened_again_by_two_people(
    sign_in: SignIn,
) -> None:
    close_period("2026-10")
    fin, ana = sign_in("fin"), sign_in("ana")
    fin.post("/months/2026-10/reopen", {"reason": REASON})
    assert "requested to reopen this month" in text_of(ana, "/months/2026-10")
    number = re.search(
        r'name="number" value="(\d+)"', html_of(ana.get("/months/2026-10"))
    )
    assert number
    ana.post("/months/2026-10/reopen", {"number": number[1]})
    page = text_of(fin, "/months/2026-10")
    assert "Earlier revisions" in page
    assert REASON in page
    book_running("2026-10")
    page = text_of(fin, "/months/2026-10")
    assert "The total is that of revision 1." in page
    assert "Against r1" in page
    first = sum_of_file(fin, "/months/2026-10/files/statements?revision=1")
    booked = PeriodRevision.objects.get(period="2026-10", revision=2)
    Statement.objects.filter(revision=booked, team="vision").update(
        payable=F("payable") + 5
    )
    rows = {
        row.team: row for row, _ in fin.get("/months/2026-10").context["table"].rows
    }
    assert rows["vision"].change == Money(Decimal(5), "EUR")
    assert not any(row.change.amount for team, row in rows.items() if team != "vision")
    assert 'files/statements?revision=1"' in html_of(fin.get("/months/2026-10"))
    assert first == booked.payable


def sum_of_file(client: Client, address: str) -> Decimal:
    """The payables of a file of statements."""
    answer = client.get(address)
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return sum(
        (Decimal(row["payable"]) for row in DictReader(StringIO(text))), Decimal(0)
    )


def entry(**more: str) -> dict[str, str]:
    """What the form of a credit sends."""
    return {
        "kind": "credit",
        "team": "vision",
        "billing_on": "2026-11-05",
        "amount": "12.50",
        "reason": REASON,
    } | more


def previewed(client: Client, **more: str) -> dict[str, str]:
    """What the button of the preview sends."""
    shown = html_of(client.post("/entries/new", entry(**more)))
    effect = shown[shown.index('id="effect-title"') :]
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', effect)
    return dict(hidden) | {"confirm": "yes"}


def added(client: Client, **more: str) -> int:
    """Add an entry by its preview; the status of the answer."""
    return client.post("/entries/new", previewed(client, **more)).status_code


def test_a_credit_is_on_the_statement(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    assert added(fin) == 302
    assert Entry.objects.get().amount == Decimal("-12.50")
    book_running("2026-11")
    page = text_of(sign_in("luis"), "/statements/vision/2026-11")
    assert "Entry · Credit E-1, 5 Nov 2026" in page
    assert "€12.50" in page


def test_an_entry_says_that_it_waits_until_a_statement_has_it(sign_in: SignIn) -> None:
    fin, luis = sign_in("fin"), sign_in("luis")
    book_running("2026-11")
    added(fin)
    said = "E-1 (Vision, −€12.50) is not included yet: it is booked within 10 minutes."
    addresses = ("/statements/vision/2026-11", "/statements/platform/2026-11")
    sums = ("/months/2026-11", "/months", "/charges?period=2026-11")
    for address in (*addresses, *sums):
        assert said in text_of(fin, address), address
    assert said in text_of(luis, "/charges?period=2026-11")
    assert said not in text_of(fin, "/charges?period=2026-11&team=search")
    assert said in text_of(luis, "/statements/vision/2026-11")
    assert said not in text_of(fin, "/statements/search/2026-11")
    assert said not in text_of(fin, "/statements/vision/2026-10")
    assert "2026-11" in book_changed(NOW)
    assert "not included yet" not in text_of(fin, "/statements/vision/2026-11")


def test_who_adds_an_entry_reads_when_statements_include_it(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    book_running("2026-11")
    fields = previewed(fin)
    form = {name: fields[name] for name in fields if name not in ("confirm", "preview")}
    preview = html_of(fin.post("/entries/new", form))
    assert "include it within 10 minutes; until then they say" in preview
    answer = fin.post("/entries/new", fields, follow=True)
    assert "E-1 is added to November 2026. Its statements include it within" in (
        html_of(answer)
    )


def test_a_month_says_what_unmapped_is_and_what_has_no_price(sign_in: SignIn) -> None:
    UnitPrice.objects.all().delete()
    book_running("2026-11")
    fin = sign_in("fin")
    page = text_of(fin, "/months/2026-11")
    assert "Unmapped GPUs of namespaces that belong to no team" in page
    hours = Statement.objects.get(revision__period="2026-11", team="unmapped")
    assert hours.without_money_ms
    said = (
        f"{units.gpu_hours(hours.without_money_ms)} GPU-h have no price or conversion"
    )
    assert f"No price {said} and are not charged" in page


def test_a_row_of_an_entry_has_its_reason_and_its_opposite(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    added(fin)
    book_running("2026-11")
    for team, title, other in (
        ("vision", "Credit E-1, 5 Nov 2026", "platform"),
        ("platform", "Credit E-1 of Vision, 5 Nov 2026", "vision"),
    ):
        html = html_of(fin.get(f"/statements/{team}/2026-11"))
        assert title in html
        assert entry()["reason"] in html
        assert f'href="/statements/{other}/2026-11"' in html
    lead = html_of(sign_in("luis").get("/statements/vision/2026-11"))
    assert "The opposite is on" in lead
    assert "/statements/platform" not in lead


def test_the_platforms_statement_has_its_hours(sign_in: SignIn) -> None:
    """It said that 0 GPU-hours were held, and 0 used, in each row of free time."""
    book_running("2026-11")
    rows = RunningLine.objects.filter(kind="platform", revision__period="2026-11")
    free = sum(rows.values_list("ms", flat=True))
    page = text_of(sign_in("fin"), "/statements/platform/2026-11")
    assert f"GPU-hours held by nobody {units.gpu_hours(free)}" in page
    assert "In total" in page
    assert "0 GPU-h used" not in page


def test_an_entry_of_a_month_that_has_not_begun_leads_to_the_months(
    sign_in: SignIn,
) -> None:
    """It led to the page of that month, which does not exist."""
    fin = sign_in("fin")
    assert added(fin, billing_on="2026-12-05") == 302
    assert "The statement of December 2026 will have it." in text_of(fin, "/months")


@pytest.mark.parametrize(("kind", "sign"), [("credit", -1), ("charge", 1)])
def test_an_entry_is_previewed_and_then_added_as_it_was_previewed(
    kind: str, sign: int, sign_in: SignIn
) -> None:
    before = book_running("2026-11").statements
    fin = sign_in("fin")
    shown = fin.post("/entries/new", entry(kind=kind, amount="120"))
    assert not Entry.objects.exists()
    effect = shown.context["effect"]
    team, platform = effect.rows
    assert team.before.amount == before.get(team="vision").payable
    assert platform.before.amount == before.get(team="platform").payable
    html = html_of(shown)
    for row in effect.rows:
        for amount in (row.before, row.after, row.difference):
            assert units.money(amount) in html
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html))
    fin.post("/entries/new", hidden | {"confirm": "yes"})
    assert Entry.objects.get().amount == sign * 120
    after = book_running("2026-11").statements
    assert team.after.amount == after.get(team="vision").payable
    assert platform.after.amount == after.get(team="platform").payable


def test_a_preview_knows_the_entries_that_are_not_computed_yet(
    sign_in: SignIn,
) -> None:
    fin = sign_in("fin")
    book_running("2026-11")
    added(fin)
    added(fin, team="search")
    shown = fin.post("/entries/new", entry()).context["effect"].rows
    book_running("2026-11")
    computed = fin.post("/entries/new", entry()).context["effect"].rows
    assert shown == computed


def test_of_a_month_that_is_not_computed_the_difference_is_previewed(
    sign_in: SignIn,
) -> None:
    fin = sign_in("fin")
    added(fin, billing_on="2026-12-05")
    shown = fin.post("/entries/new", entry(billing_on="2026-12-05"))
    html = html_of(shown)
    assert "December 2026 is not computed yet: only the difference is known" in html
    assert html.count("Not computed") == 4
    assert "€25.00" not in html
    differences = [one.difference.amount for one in shown.context["effect"].rows]
    assert differences == [Decimal("-12.50"), Decimal("12.50")]


def test_a_preview_that_is_sent_twice_adds_one_entry(sign_in: SignIn) -> None:
    book_running("2026-11")
    fin = sign_in("fin")
    sent = previewed(fin)
    for _ in range(2):
        assert fin.post("/entries/new", sent).status_code == 302
    assert Entry.objects.get().number == "E-1"
    other = fin.post("/entries/new", sent | {"amount": "13"})  # of the same preview
    assert other.status_code == 422
    assert "not the entry that was previewed" in html_of(other)
    assert Entry.objects.count() == 1
    added(fin)  # the same amounts again, by a preview of its own
    assert Entry.objects.count() == 2


@pytest.mark.parametrize("day", ["2026-11-05", "2026-12-05"])
def test_a_preview_that_became_stale_is_shown_again(day: str, sign_in: SignIn) -> None:
    book_running("2026-11")
    fin, ana = sign_in("fin"), sign_in("ana")
    sent = previewed(fin, billing_on=day)
    added(ana, billing_on=day, amount="1")
    shown = fin.post("/entries/new", sent)
    assert shown.status_code == 422
    assert "payables have changed since this preview" in html_of(shown)
    assert Entry.objects.count() == 1
    assert shown.context["effect"].seen != sent["seen"]
    assert added(fin, billing_on=day) == 302
    assert Entry.objects.count() == 2


def test_an_entry_without_its_preview_is_shown_first(sign_in: SignIn) -> None:
    shown = sign_in("fin").post("/entries/new", entry(confirm="yes"))
    assert shown.status_code == 422
    assert "Check what the entry does before it is added" in html_of(shown)
    assert shown.context["effect"] is not None
    assert not Entry.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"amount": "-12.50"}, "Enter the amount without a sign"),
        ({"amount": "\N{MINUS SIGN}12.50"}, "Enter the amount without a sign"),
        ({"amount": "+12.50"}, "Enter the amount without a sign"),
        ({"amount": "12,50"}, "Enter a number"),
        ({"amount": "0"}, "must not be 0"),
        ({"amount": "0.001"}, "more than 2 decimal places"),
        ({"kind": ""}, "Choose a credit or an extra charge"),
        ({"kind": "adjustment"}, "Select a valid choice"),
        (
            {"billing_on": "2026-09-01"},
            "2026-09 was never closed, and later months were",
        ),
    ],
)
def test_what_is_wrong_in_an_entry_is_said_before_and_after_the_preview(
    wrong: dict[str, str], message: str, sign_in: SignIn
) -> None:
    close_period("2026-10")
    fin = sign_in("fin")
    for more in ({}, {"confirm": "yes"}):
        sent = entry(**wrong, **more) | {"preview": "k", "seen": ""}
        refused = fin.post("/entries/new", sent)
        assert refused.status_code == 422
        assert message in html_of(refused)
    assert not Entry.objects.exists()


def test_the_method_of_a_month_is_chosen_before_it_begins(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    begun = fin.post("/months/2026-11/method", {"method": "busy-v1"}, follow=True)
    assert "its method cannot change" in html_of(begun)
    assert fin.post("/months/2026-11/method", {"method": "x"}).status_code == 404
