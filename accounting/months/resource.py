"""Contests of statements: leads contest and decide, finance answers (money.md M34); methods.

A contest is opened on its statement: `accounting/months/api/contests.py` and the page of its form.
"""

from accounting.access.rights import CONTESTS as READ
from accounting.access.rights import PERIODS
from accounting.access.scope import Scope
from accounting.kit.resources.resource import Filters, Resource, Verb
from accounting.months.actions import contests as actions
from accounting.months.reads.contests import ContestRow, contest_row, contest_rows
from accounting.months.reads.method_text import DescribedMethod, described_methods

ANSWER = Verb(
    "answer",
    actions.answer_contest,
    actions.AnswerContest,
    READ,
    "Answer an open contest: with a credit or adjustment, a changed rule, or a reason.",
)
ACCEPT = Verb(
    "accept",
    actions.accept_answer,
    None,
    READ,
    "Accept the answer, as a lead of the team.",
    done="The answer is accepted.",
)
REOPEN = Verb(
    "reopen",
    actions.reopen_contest,
    actions.ReopenContest,
    READ,
    "Open an answered contest again, as a lead of the team.",
    done="The contest is open again.",
)
WITHDRAW = Verb(
    "withdraw",
    actions.withdraw_contest,
    None,
    READ,
    "Withdraw an open contest, as a lead of the team; it stays readable.",
    done="The contest is withdrawn.",
)


def _read(scope: Scope, filters: Filters) -> list[ContestRow]:
    return contest_rows(scope, teams=filters.get("team", ()))


CONTESTS = Resource(
    "contests",
    ContestRow,
    READ,
    _read,
    item=contest_row,
    about="List contests, open ones first: of all teams, or of those that one leads.",
    about_item="One contest with all its steps.",
    filters=("team",),
    verbs=(ANSWER, ACCEPT, REOPEN, WITHDRAW),
)

METHODS = Resource(
    "methods",
    DescribedMethod,
    PERIODS,
    lambda scope: described_methods(),  # of everybody who may read
    "List methods: who pays for held time, how the cost of GPUs that nobody held is divided,\n"
    "and the sentences of statements. For finance and administrators.",
)
