"""Contests of statements: who contests, who answers, and in which order (money.md M34).

Not covered: pages (test_contest_pages.py) and REST (tests/integration/api/test_contests.py).
"""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction

from accounting.access.models.teams import Binding, Team
from accounting.access.scope import EVERYTHING, scope_of
from accounting.core.money import Money
from accounting.kit.models.audit import AuditLink
from accounting.kit.outcomes import Refused
from accounting.months.actions.contests import (
    AnswerContest,
    ReopenContest,
    accept_answer,
    answer_contest,
    open_contest,
    reopen_contest,
    withdraw_contest,
)
from accounting.months.actions.entries import PreviewChanged
from accounting.months.actions.periods import NotAllowed
from accounting.months.models.charge import ChargeLine
from accounting.months.models.contest import Contest
from accounting.months.models.entry import Entry
from accounting.months.reads.contested import row_key
from accounting.months.reads.contests import contest_row, contest_rows
from accounting.months.reads.entry_effect import entry_effect
from accounting.months.rules.close_checks import CloseCheck
from accounting.months.tasks.checks.of_close import run_checks
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, LONG_AGO, Days, payables
from tests.integration.months.people import lead_of, person

OCTOBER = date(2026, 10, 5)
NOVEMBER = date(2026, 11, 5)
HOUR = 3_600_000
WHY = "the nodes were down on that day"
ANSWER = "the logs of both nodes show it"
CREDIT = AnswerContest(
    answer="entry", amount=Decimal("-1.50"), day=NOVEMBER, reason=ANSWER
)
STAYS = AnswerContest(answer="reason", reason=ANSWER)


@pytest.fixture(autouse=True)
def october(days: Days) -> None:
    """October, closed with 4.00 for vision and 2.00 for search; November is open."""
    days.price(H100, "2.00")
    days.use("vision", OCTOBER, 2 * HOUR)
    days.use("search", OCTOBER, HOUR)
    close_period("2026-10")


@pytest.fixture
def lead() -> User:
    """Leads vision."""
    return lead_of("vision", "luis")


@pytest.fixture
def fin() -> User:
    return person("fin")


def contest(by: User, **more: str) -> Contest:
    team = Team.objects.get(slug="vision")
    return open_contest(team, "2026-10", WHY, by, **more)  # type: ignore[arg-type]


def contests_check(period: str) -> CloseCheck:
    return next(one for one in run_checks(period) if one.code == "contests")


def test_a_credit_answers_a_contest_and_has_its_opposite_on_the_platform(
    lead: User, fin: User
) -> None:
    asked = contest(lead)
    assert (asked.title, asked.amount) == ("The whole statement", Decimal("4.00"))
    answer_contest(asked.pk, CREDIT, fin)
    entry = Entry.objects.get()
    assert payables(book_running("2026-11")) == {"platform": "1.50", "vision": "-1.50"}
    accept_answer(asked.pk, lead)
    row = contest_row(scope_of(lead), asked.pk)
    assert row is not None
    assert row.state == "accepted"
    assert [(one.act, one.by) for one in row.steps] == [
        ("contested", "luis"),
        ("answered", "fin"),
        ("accepted", "luis"),
    ]
    assert row.answer is not None
    assert row.answer.entry is not None
    assert row.answer.entry.number == entry.number
    assert row.answer.text == ANSWER
    assert row.statement == "2026-10-vision-r1"


def test_a_row_and_a_line_are_contested_with_their_amounts(lead: User) -> None:
    row = contest(lead, of="row", key=row_key("usage", (H100, "")))
    assert (row.title, row.amount) == (H100, Decimal("4.00"))
    line = ChargeLine.objects.get(team="vision", kind="usage")
    found = contest(lead, of="line", key=line.line_id)
    assert found.amount == Decimal("4.000000")
    assert "5 Oct 2026 · north · ml/Job/train" in found.title


@pytest.mark.parametrize(
    ("of", "key"),
    [("row", row_key("usage", ("B200", ""))), ("row", "x"), ("line", "0" * 32)],
)
def test_what_is_not_on_the_statement_cannot_be_contested(
    of: str, key: str, lead: User
) -> None:
    with pytest.raises(Refused, match="has no such"):
        contest(lead, of=of, key=key)


def test_a_line_of_another_team_cannot_be_contested(lead: User) -> None:
    line = ChargeLine.objects.get(team="search", kind="usage")
    with pytest.raises(Refused, match="has no such line"):
        contest(lead, of="line", key=line.line_id)


def test_an_answer_is_accepted_or_the_contest_is_open_again(
    lead: User, fin: User
) -> None:
    asked = contest(lead)
    with pytest.raises(Refused, match="needs a contest that is answered"):
        accept_answer(asked.pk, lead)
    answer_contest(asked.pk, STAYS, fin)
    with pytest.raises(Refused, match="needs a contest that is open"):
        answer_contest(asked.pk, STAYS, fin)
    with pytest.raises(Refused, match="needs a contest that is open"):
        withdraw_contest(asked.pk, lead)
    again = ReopenContest(reason="our logs show the opposite")
    reopen_contest(asked.pk, again, lead)
    rule = Binding.objects.create(
        kind="namespace",
        glob="ml",
        team=asked.team,
        position=1,
        valid_from=LONG_AGO,
    )
    moved = AnswerContest(answer="mapping", rule=rule, reason=ANSWER)
    answer_contest(asked.pk, moved, fin)
    row = contest_row(EVERYTHING, asked.pk)
    assert row is not None
    assert [one.answer for one in row.steps] == ["", "reason", "", "mapping"]
    assert row.answer is not None
    assert row.answer.rule == rule.pk


def test_only_leads_of_the_team_contest_and_only_finance_answers(
    lead: User, fin: User
) -> None:
    other = lead_of("search", "sara")
    for by in (fin, other):
        with pytest.raises(NotAllowed, match="people who lead vision may"):
            contest(by)
    asked = contest(lead)
    for by in (lead, other):
        with pytest.raises(NotAllowed, match="finance and administrators may"):
            answer_contest(asked.pk, STAYS, by)
    answer_contest(asked.pk, STAYS, fin)
    with pytest.raises(NotAllowed, match="people who lead vision may"):
        accept_answer(asked.pk, fin)
    assert contest_row(scope_of(other), asked.pk) is None
    assert contest_rows(scope_of(other)) == []


def test_the_same_amount_has_one_contest_at_a_time(lead: User) -> None:
    first = contest(lead)
    with pytest.raises(Refused, match=f"see contest {first.pk}"):
        contest(lead)
    withdraw_contest(first.pk, lead)
    second = contest(lead)
    assert [one.id for one in contest_rows(EVERYTHING)] == [second.pk, first.pk]
    assert [one.id for one in contest_rows(EVERYTHING, states=["withdrawn"])] == [
        first.pk
    ]


def test_an_answer_whose_payables_have_changed_leaves_the_contest_open(
    lead: User, fin: User
) -> None:
    """What the preview showed is compared while the booking is held, not before."""
    asked = contest(lead)
    with pytest.raises(
        PreviewChanged, match="payables have changed since this preview"
    ):
        answer_contest(asked.pk, CREDIT, fin, seen="of another day")
    asked.refresh_from_db()
    assert asked.state == "open"
    assert not Entry.objects.exists()
    shown = entry_effect(asked.team, NOVEMBER, Money(Decimal("-1.50"), "EUR"))
    answer_contest(asked.pk, CREDIT, fin, seen=shown.seen)
    assert Entry.objects.count() == 1


def test_an_entry_that_is_not_valid_leaves_the_contest_open(
    lead: User, fin: User
) -> None:
    asked = contest(lead)
    with pytest.raises(Refused, match="2026-10 is closed") as closed:
        answer_contest(asked.pk, replace(CREDIT, day=OCTOBER), fin)
    with pytest.raises(Refused, match="must not be 0") as nothing:
        answer_contest(asked.pk, replace(CREDIT, amount=Decimal(0)), fin)
    with pytest.raises(Refused, match="10 to 200 characters") as short:
        answer_contest(asked.pk, replace(CREDIT, reason="no"), fin)
    with pytest.raises(Refused, match="needs it") as without:
        answer_contest(asked.pk, replace(CREDIT, day=None), fin)
    refused = (closed, nothing, short, without)
    assert [one.value.member for one in refused] == ["day", "amount", "reason", "day"]
    asked.refresh_from_db()
    assert asked.state == "open"
    assert not Entry.objects.exists()


def test_open_contests_are_a_warning_of_the_close_and_do_not_block(
    lead: User, fin: User
) -> None:
    assert contests_check("2026-11").level == "passed"
    asked = contest(lead)
    check = contests_check("2026-11")
    assert (str(check.level), str(check.value)) == ("warning", "1")
    assert not check.is_blocking
    assert check.message == "contests wait for an answer: vision: 1"
    assert check.link == "/contests"
    answer_contest(asked.pk, STAYS, fin)
    assert contests_check("2026-11").level == "passed"


def test_contests_are_kept_and_in_the_audit_log(lead: User) -> None:
    asked = contest(lead)
    for table in (asked, asked.steps.get()):
        with pytest.raises(DatabaseError, match="Cannot"), transaction.atomic():
            table.delete()
    with pytest.raises(DatabaseError, match="Cannot"), transaction.atomic():
        asked.steps.update(text="something else")
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE"
        )  # as at the end of a transaction
    sealed = AuditLink.objects.filter(source__contains="contest").order_by("id")
    assert [one.source for one in sealed] == [
        "accounting_contestevent",
        "accounting_conteststepevent",
    ]
    assert sealed[0].body["context"]["actor"] == "luis"
    assert sealed[0].body["context"]["reason"] == WHY
