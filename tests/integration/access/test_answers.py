"""Two versions are compared by all answers over one database (`tests/answers`).

The same version answers twice the same, and one changed row is found where it is shown.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import DjangoDbBlocker

from accounting.kit.reads.database_clock import database_now
from accounting.months.tasks.close import close_period
from tests.answers.addresses import names_in_database, questions
from tests.answers.asking import COMMAND, Answer, Dump, Question
from tests.answers.differences import Difference, differences, read
from tests.answers.frozen import frozen_copy
from tests.database_copies import connected_to, copy_of
from tests.integration.conftest import NOW

EVERY = 61  # one of so many questions is asked here; the command asks all
ALWAYS = {
    ("ana", "/?range=last-7-days"),
    ("ana", "/prices"),
    ("ana", "/api/v1/usage"),
    (COMMAND, "report usage"),
    (COMMAND, "export charges --period 2026-10 --format xlsx -o FILE"),
}
CHANGED = """
    UPDATE usage_day SET busy_ms = busy_ms + 3600000
    WHERE ctid = (SELECT min(ctid) FROM usage_day WHERE billing_on = '2026-11-17'
                  AND busy_ms > 0 AND rate > 0) AND billing_on = '2026-11-17'
"""
AskAll = Callable[[str], dict[tuple[str, str], Answer]]


@pytest.fixture(scope="module")
def ask(
    story_database: tuple[str, bytes],
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[AskAll]:
    """Dumps answers over the story with a closed month, changed by a statement."""
    folder = tmp_path_factory.mktemp("answers")
    with (
        django_db_blocker.unblock(),
        copy_of(story_database[0], "answers_closed") as closed,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(settings, "ALLOWED_HOSTS", ["testserver"])
        with connected_to(closed):
            close_period("2026-10", now=NOW)

        def dump(change: str) -> dict[tuple[str, str], Answer]:
            with frozen_copy(closed, "answers_frozen", NOW):
                if change:
                    with connection.cursor() as cursor:
                        cursor.execute(change)
                        assert cursor.rowcount == 1
                return _dump(folder / "answers.jsonl")

        yield dump


def _dump(path: Path) -> dict[tuple[str, str], Answer]:
    assert database_now() == NOW  # the clock of PostgreSQL stands still, too
    with path.open("w", encoding="utf-8") as out:
        Dump(out).ask(_some())
    return read(path)


def _some() -> Iterator[Question]:
    for n, one in enumerate(questions(names_in_database(), NOW)):
        if n % EVERY == 0 or one in ALWAYS:
            yield one


def _by_address(found: list[Difference]) -> dict[tuple[str, str], Difference]:
    return {(one.who, one.at): one for one in found}


def test_one_version_answers_twice_the_same_and_one_changed_row_is_found(
    ask: AskAll,
) -> None:
    before = ask("")
    assert before.keys() >= ALWAYS
    assert {one.who for one in before.values()} >= {"ana", "fin", "luis", COMMAND}
    assert not [one for one in before.values() if one.status >= 500]
    assert [*differences(before, ask(""))] == []

    found = _by_address([*differences(before, ask(CHANGED), only_figures=True)])
    assert found.keys() >= {
        ("ana", "/?range=last-7-days"),
        ("ana", "/api/v1/usage"),
        (COMMAND, "report usage"),
    }
    assert ("ana", "/prices") not in found
    for before_text, after_text in found["ana", "/api/v1/usage"].examples:
        assert before_text != after_text


def test_what_is_missing_new_or_of_another_status_is_told() -> None:
    page = Answer("ana", "/teams", 200, "text/html", ["Vision", "4 GPUs", "12.50"])
    other = Answer("ana", "/teams", 200, "text/html", ["Vision", "4 GPUs", "12.51"])
    words = Answer("ana", "/teams", 200, "text/html", ["Team", "4 units", "12.50"])
    gone = Answer("ana", "/teams", 500, "text/html", [])
    key = ("ana", "/teams")
    (found,) = differences({key: page}, {key: other})
    assert found.examples == [("12.50", "12.51")]
    assert [*found.lines()] == ["ana /teams: 1", "    - 12.50", "    + 12.51"]
    assert [*differences({key: page}, {key: words}, only_figures=True)] == []
    assert len([*differences({key: page}, {key: words})]) == 1
    (found,) = differences({key: page}, {key: gone})
    assert found.examples == [("200 text/html", "500 text/html")]
    (found,) = differences({key: page}, {})
    assert found.examples == [("200", "not asked")]
