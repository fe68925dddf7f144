"""Pages of contests: a lead contests a statement, finance answers, the lead decides (M34).

Not covered: the rules of the steps (tests/integration/months/test_contests.py).
"""

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
import time_machine
from django.test import Client

from accounting.access.models.teams import Binding
from accounting.months.models.contest import Contest
from accounting.months.models.entry import Entry
from accounting.months.tasks.running import book_running
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of
from tests.story import Story

WHY = "gpu-02 was down on 3 November"
ANSWER = "the logs of the node show it, too"
ADD = "/statements/vision/2026-11/contest"


@pytest.fixture(autouse=True)
def november(story: Story, db: None) -> Iterator[None]:
    """The clock does not move; November is booked."""
    del story, db
    with time_machine.travel(NOW, tick=False):
        book_running("2026-11")
        yield


def text_of(client: Client, path: str) -> str:
    """A page without tags, with single spaces."""
    html = html_of(client.get(path))
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def contest(luis: Client, **more: str) -> Contest:
    """What a lead contests, as the form does it."""
    made = luis.post(ADD, {"what": "statement:", "reason": WHY} | more)
    assert made.status_code == 302
    return Contest.objects.latest("id")


def test_a_lead_contests_and_finance_answers_with_a_credit(sign_in: SignIn) -> None:
    luis, fin = sign_in("luis"), sign_in("fin")
    assert f'href="{ADD}?revision=1"' in html_of(luis.get("/statements/vision/2026-11"))
    asked = contest(luis)
    address = f"/contests/{asked.pk}"
    for page in (text_of(fin, "/contests"), text_of(luis, address)):
        assert WHY in page
        assert "Share" not in page  # the header of pages with a range of time
    body = {
        "answer": "credit",
        "amount": "12.50",
        "billing_on": "2026-11-05",
        "reason": ANSWER,
    }
    assert "Credit to Vision" in text_of(fin, address)
    shown = fin.post(f"{address}/answer", body | {"confirm": "yes"})
    assert "payables have changed since this preview" in html_of(shown)
    assert not Entry.objects.exists()
    seen = {"seen": shown.context["answer"].effect.seen, "confirm": "yes"}
    fin.post(f"{address}/answer", body | seen)
    again = fin.post(f"{address}/answer", body | seen, follow=True)  # sent twice
    assert "this needs a contest that is open" in html_of(again)
    assert Entry.objects.get().amount == Decimal("-12.50")
    page = text_of(luis, address)
    assert "answered with E-1, a credit of €12.50 on 5 Nov" in page
    assert "Send the answer" not in page
    luis.post(f"{address}/accept")
    book_running("2026-11")
    page = text_of(luis, "/statements/vision/2026-11")
    assert f"Contest {asked.pk}: The whole statement" in page
    assert "Accepted" in page
    assert ANSWER in page
    assert "Credit E-1, 5 Nov 2026" in page


def test_a_rule_has_the_number_of_its_position(sign_in: SignIn) -> None:
    rule = Binding.objects.order_by("-position").first()
    assert rule is not None
    Binding.objects.filter(pk=rule.pk).update(position=77)
    asked, fin = contest(sign_in("luis")), sign_in("ana")
    address = f"/contests/{asked.pk}"
    assert "Rule 77: " in text_of(fin, f"{address}?answer=mapping")
    body = {"answer": "mapping", "rule": rule.pk, "reason": ANSWER}
    assert fin.post(f"{address}/answer", body).status_code == 302
    assert "rule 77" in text_of(fin, address)


def test_an_answer_shows_its_own_fields_only(sign_in: SignIn) -> None:
    asked, fin = contest(sign_in("luis")), sign_in("fin")
    address = f"/contests/{asked.pk}"
    fields = {
        answer: set(re.findall(r'<label for="id_(\w+)"', html_of(fin.get(answer))))
        for answer in (
            address,
            *(f"{address}?answer={one}" for one in ("credit", "charge", "mapping")),
            f"{address}?answer=reason",
        )
    }
    money = {"amount", "billing_on", "reason"}
    assert list(fields.values()) == [
        set(),
        money,
        money,
        {"rule", "reason"},
        {"reason"},
    ]
    other = html_of(fin.get(f"{address}?answer=gift"))
    assert "Choose one of these answers" in other


@pytest.mark.parametrize(
    ("answer", "words", "amount"),
    [("credit", "a credit", -120), ("charge", "an extra charge", 120)],
)
def test_an_amount_is_previewed_before_it_is_sent(
    answer: str, words: str, amount: int, sign_in: SignIn
) -> None:
    asked, fin = contest(sign_in("luis")), sign_in("fin")
    address = f"/contests/{asked.pk}"
    body = {
        "answer": answer,
        "amount": "120",
        "billing_on": "2026-11-05",
        "reason": ANSWER,
    }
    shown = fin.post(f"{address}/answer", body)
    assert shown.status_code == 200
    assert not Entry.objects.exists()
    assert Contest.objects.get().state == "open"
    html = html_of(shown)
    assert f"{words[0].upper()}{words[1:]} of €120.00: Vision pays" in html
    sent = html[html.index('id="effect-title"') :]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', sent))
    fin.post(f"{address}/answer", hidden | {"confirm": "yes"})
    assert Entry.objects.get().amount == amount
    said = text_of(sign_in("luis"), address)
    assert f"answered with E-1, {words} of €120.00 on 5 Nov" in said


def test_a_row_is_contested_and_opened_again(sign_in: SignIn) -> None:
    luis, fin = sign_in("luis"), sign_in("fin")
    [row, *_] = re.findall(r'value="(row:[^"]+)"', html_of(luis.get(ADD)))
    asked = contest(luis, what=row.replace("&quot;", '"'))
    assert asked.of == "row"
    address = f"/contests/{asked.pk}"
    fin.post(f"{address}/answer", {"answer": "reason", "reason": ANSWER})
    short = luis.post(f"{address}/reopen", {"reason": "no"})
    assert short.status_code == 422
    luis.post(f"{address}/reopen", {"reason": "that is another node"})
    assert "that is another node" in text_of(fin, address)
    assert Contest.objects.get().state == "open"
    luis.post(f"{address}/withdraw")
    assert "Withdrawn" in text_of(fin, "/contests?state=withdrawn")
    assert "No contest is in this state" in text_of(fin, "/contests?state=open")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"what": "statement:", "reason": "no"}, "at least 10 characters"),
        ({"what": "line:", "reason": WHY}, "Enter the id of the line"),
        ({"what": "line:", "line": "0" * 32, "reason": WHY}, "has no such line"),
        ({"what": "statement:", "line": "0" * 32, "reason": WHY}, "leave this empty"),
        ({"what": "row:[]", "reason": WHY}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_in_a_contest_is_said(
    body: dict[str, str], message: str, sign_in: SignIn
) -> None:
    refused = sign_in("luis").post(ADD, body)
    assert refused.status_code == 422
    assert message in html_of(refused)
    assert not Contest.objects.exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"reason": ANSWER}, "Choose one of these answers"),
        ({"answer": "entry", "reason": ANSWER}, "Choose one of these answers"),
        ({"answer": "credit", "reason": ANSWER}, "This field is required."),
        ({"answer": "mapping", "reason": ANSWER}, "This field is required."),
        ({"answer": "reason", "reason": "no"}, "at least 10 characters"),
        (
            {
                "answer": "credit",
                "amount": "-120",
                "billing_on": "2026-11-05",
                "reason": ANSWER,
            },
            "Enter the amount without a sign",
        ),
        (
            {
                "answer": "charge",
                "amount": "0.001",
                "billing_on": "2026-11-05",
                "reason": ANSWER,
            },
            "more than 2 decimal places",
        ),
    ],
)
def test_what_is_wrong_in_an_answer_is_said(
    body: dict[str, str], message: str, sign_in: SignIn
) -> None:
    asked = contest(sign_in("luis"))
    refused = sign_in("fin").post(f"/contests/{asked.pk}/answer", body)
    assert refused.status_code == 422
    assert message in html_of(refused)


def test_nobody_else_contests_answers_or_decides(sign_in: SignIn) -> None:
    luis, fin, mia = sign_in("luis"), sign_in("fin"), sign_in("mia")
    asked = contest(luis)
    address = f"/contests/{asked.pk}"
    answer = {"answer": "reason", "reason": ANSWER}
    assert luis.post(f"{address}/answer", answer).status_code == 403
    assert luis.get("/statements/search/2026-11/contest").status_code == 404
    for person, codes in ((fin, (200, 403, 403, 403)), (mia, (403, 403, 403, 403))):
        assert (
            person.get(address).status_code,
            person.post(f"{address}/accept").status_code,
            person.post(f"{address}/withdraw").status_code,
            person.post(ADD, {"what": "statement:", "reason": WHY}).status_code,
        ) == codes
    refused = luis.post(f"{address}/accept", follow=True)
    assert "needs a contest that is answered" in html_of(refused)


def test_before_anything_is_contested_the_list_says_where_to(sign_in: SignIn) -> None:
    assert "choose your team, and open its statement" in text_of(
        sign_in("luis"), "/contests"
    )
    assert "Nothing is contested" in text_of(sign_in("fin"), "/contests")
    assert sign_in("fin").get("/contests?state=x").status_code == 400


def test_the_start_page_of_finance_says_who_contests(sign_in: SignIn) -> None:
    fin = sign_in("fin")
    assert "Who contests Nobody" in text_of(fin, "/months")
    contest(sign_in("luis"))
    page = text_of(fin, "/months")
    assert "Open month Nov 2026" in page
    assert "Who contests Vision 1 open contest" in page
    assert WHY in page
