"""The words of contests cover every answer that can be given, and every state."""

from accounting.months.models.contest import AnswerKind, ContestState
from accounting.months.pages.contest_forms import FORMS
from accounting.months.rules.contest_words import ANSWERED, ANSWERS, TONES


def test_every_answer_has_a_form_and_words() -> None:
    assert [*ANSWERS] == [*FORMS]
    assert [*ANSWERED] == [*FORMS]


def test_what_is_stored_says_the_same_as_what_is_chosen() -> None:
    assert AnswerKind.MAPPING.label == ANSWERS["mapping"]
    assert AnswerKind.REASON.label == ANSWERS["reason"]


def test_every_state_has_a_tone() -> None:
    assert {*TONES} == {*ContestState.values}
