"""Who may approve a plan: the one rule that the action, the page and the list ask."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from scheduler_view.changes.rules.approval import Approval, refusal_of_approval

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
PLANNED = Approval(
    name="CS-7",
    cluster="north",
    state="Planned",
    is_planned=True,
    expires_at=NOW + timedelta(minutes=5),
    blocked=(),
    needs_second=True,
    author="ana",
)


def refusal(asked: Approval, person: str) -> str:
    return refusal_of_approval(asked, person, lambda: {"bea"}, NOW)


def test_another_than_its_author_and_its_editors_approves() -> None:
    assert refusal(PLANNED, "cleo") == ""
    for one in ("ana", "bea"):
        assert "above the limit of north: another administrator" in refusal(
            PLANNED, one
        )


def test_below_the_limit_anybody_does_and_nobody_looks_for_editors() -> None:
    below = replace(PLANNED, needs_second=False)

    def writers() -> set[str]:
        raise AssertionError("not needed")

    assert refusal_of_approval(below, "ana", writers, NOW) == ""


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (replace(PLANNED, is_planned=False, state="Draft"), "CS-7 is Draft; only a pl"),
        (replace(PLANNED, expires_at=NOW), "was valid until 12:00:00 UTC: plan again"),
        (
            replace(PLANNED, blocked=("a: no", "b: no")),
            "2 of its objects cannot be changed, first a: no",
        ),
    ],
)
def test_what_cannot_be_applied_is_not_approved(asked: Approval, words: str) -> None:
    assert words in refusal(asked, "cleo")


def test_a_plan_without_an_end_does_not_expire() -> None:
    assert refusal(replace(PLANNED, expires_at=None), "cleo") == ""
