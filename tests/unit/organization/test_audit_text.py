"""The audit log in words: every audited kind, and the lines of one request together."""

from datetime import UTC, datetime, timedelta
from typing import Any

from accounting.organization.pages.audit_text import Names, group_of, grouped, line_of
from accounting.organization.pages.audit_words import KINDS, kind_label
from accounting.organization.reads.audit_entries import AuditRow, kinds

NAMES = Names({3: "Vision"}, {7: "luis"}, {1: "north"})
AT = datetime(2026, 11, 22, 9, tzinfo=UTC)


def row(number: int, what: str, action: str = "update", **more: Any) -> AuditRow:
    values: dict[str, Any] = {
        "at": AT,
        "actor": "ana",
        "user": 1,
        "object_id": 5,
        "reason": "OPS-1",
        "request_id": "r1",
        "address": "",
        "before": {},
        "after": {},
    } | more
    return AuditRow(id=number, what=what, action=action, **values)


def test_every_audited_kind_has_words_and_no_other() -> None:
    assert set(KINDS) == set(kinds())
    words = {kind: (kind_label(kind), kind_label(kind, 2)) for kind in kinds()}
    assert all(one != several for one, several in words.values())
    as_stored = {kind for kind, (one, _) in words.items() if one == kind}
    assert as_stored == {
        "account",
        "budget",
        "cluster",
        "team",
    }  # plain words by themselves


def test_lines_of_one_request_are_one_group() -> None:
    rows = [
        row(9, "unitprice", request_id="r2"),
        row(8, "changeset"),
        row(7, "quotatarget"),
        row(6, "changeset", actor="luis"),
        row(5, "changeset"),
    ]
    assert [[one.id for one in group] for group in grouped(rows)] == [
        [9],
        [8, 7],
        [6],
        [5],
    ]


def test_a_worker_s_lines_are_one_group_per_change_and_time() -> None:
    work = {"request_id": "", "reason": "OPS-1"}
    rows = [
        row(10, "changestep", row={"change_set_id": 2}, **work),
        row(9, "quotatarget", row={"team_id": 3}, **work),
        row(8, "changeset", object_id=2, at=AT - timedelta(minutes=14), **work),
        row(7, "changeset", object_id=1, at=AT - timedelta(minutes=14), **work),
        row(6, "changeset", object_id=1, at=AT - timedelta(minutes=30), **work),
    ]
    assert [[one.id for one in group] for group in grouped(rows)] == [
        [10, 9, 8],
        [7],
        [6],
    ]


def test_a_group_says_what_was_done_to_what() -> None:
    rows = [
        row(9, "changeset", before={"state": "applying"}, after={"state": "applied"}),
        row(
            8,
            "quotatarget",
            row={"team_id": 3},
            before={"gpus": 24},
            after={"gpus": 30},
        ),
        row(7, "changestep", row={"change_set_id": 5}),
        row(6, "changeset", before={"state": "planned"}, after={"state": "applying"}),
    ]
    group = group_of(rows, NAMES)
    assert group.change == 5
    assert group.states == "planned → applied"
    assert group.summary == ("Quota of Vision changed",)
    many = group_of([row(n, "binding", "insert") for n in (3, 2, 1)], NAMES)
    assert many.summary == ("3 attribution rules added",)
    assert many.change is None
    assert many.states == ""


def test_numbers_are_shown_as_names() -> None:
    made = row(
        1,
        "membership",
        "insert",
        row={"user_id": 7, "team_id": 3},
        after={"user_id": 7, "team_id": 3, "role": "lead", "is_new": True},
    )
    line = line_of(made, NAMES)
    assert line.text == "Team membership luis in Vision added"
    assert [(move.name, move.after) for move in line.moves] == [
        ("user", "luis"),
        ("team", "Vision"),
        ("role", "lead"),
        ("is new", "yes"),
    ]
    gone = line_of(row(2, "quotatarget", row={"team_id": 99}), NAMES)
    assert gone.text == "Quota changed"


def test_nothing_is_a_word_and_people_have_names() -> None:
    confirmed = row(
        1,
        "closeoverride",
        before={"confirmed_by_id": None, "is_old": False},
        after={"confirmed_by_id": 7, "is_old": True},
    )
    moves = [
        (one.name, one.before, one.after) for one in line_of(confirmed, NAMES).moves
    ]
    assert moves == [("confirmed by", "none", "luis"), ("is old", "no", "yes")]


def test_a_step_of_a_contest_says_what_it_did() -> None:
    step = {"contest_id": 2, "act": "answered", "by_id": 7, "text": "agreed"}
    line = line_of(row(1, "conteststep", "insert", row=step, after=step), NAMES)
    assert line.text == "Contest 2 answered"
    opened = row(1, "conteststep", "insert", row=step | {"act": "contested"})
    assert line_of(opened, NAMES).text == "Contest 2 opened"
    again = row(1, "conteststep", "insert", row=step | {"act": "reopened"})
    assert line_of(again, NAMES).text == "Contest 2 opened again"


def test_sign_ins_and_accounts_read_as_sentences() -> None:
    failed = {"account": "mia", "outcome": "failed"}
    assert line_of(row(1, "signinrecord", "insert", row=failed), NAMES).text == (
        "Sign-in of mia failed"
    )
    stranger = {"account": "", "outcome": "failed"}
    assert line_of(row(1, "signinrecord", "insert", row=stranger), NAMES).text == (
        "Sign-in of an unknown account failed"
    )
    account = row(1, "account", "password", row={"username": "mia"})
    assert line_of(account, NAMES).text == "Account mia got a new password"
