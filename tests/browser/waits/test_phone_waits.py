"""Work that waits, on a phone, 390 px wide: what decides is on the screen beside its title.

Leaves out limits (`test_limits.py`) and quotas and plans (`test_changes.py`).
"""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.browser.conftest import SignIn, beyond
from tests.browser.waits.stored_waits import forget_waits, store_waits
from tests.story import Story

PHONE = 390


@pytest.fixture(scope="module")
def waits(story: Story, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Work of several teams that waits, of every cause that was recorded."""
    with django_db_blocker.unblock():
        store_waits(story)
        yield
        forget_waits()
    connection.close()


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize(
    ("path", "table", "title"),
    [
        ("/queues", "reasons", "The oldest starts if"),
        ("/queues", "queued", "Why it waits"),
        ("/queues", "queued", "Starts"),
        ("/gpus/pools", "pools", "Fits now"),
        ("/quotas/pending", "held-up", "It starts if"),
        ("/teams/vision/quota", "held-up", "Who holds it"),
        ("/teams/vision", "waiting", "Since"),
    ],
)
def test_what_decides_is_on_the_screen_of_a_phone(
    sign_in: SignIn, path: str, table: str, title: str
) -> None:
    page = sign_in("ana", width=PHONE, is_kept=True).open(path)
    assert beyond(page, table, title) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


@pytest.mark.usefixtures("waits")
def test_a_stacked_value_has_the_title_of_its_column(sign_in: SignIn) -> None:
    page = sign_in("ana", width=PHONE, is_kept=True).open("/queues")
    titles = page.evaluate(
        """[...document.querySelectorAll('table.stacks')].flatMap(table => {
            const heads = [...table.tHead.rows[0].cells].map(
                cell => cell.textContent.trim().replace(/\\s+/g, ' '));
            return [...table.tBodies[0].rows].flatMap(row => [...row.cells].slice(1)
                .filter(cell => cell.dataset.th !== heads[cell.cellIndex])
                .map(cell => `${heads[cell.cellIndex]}: ${cell.dataset.th}`));
        })"""
    )
    assert titles == []
