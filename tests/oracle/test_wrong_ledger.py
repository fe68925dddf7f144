"""The checks of the stateful test find a wrong ledger, whatever is wrong in it.

A world is brought up to date; then the database is changed behind the product's back, in a
window long past that the oracle remembers. The next step must fail. The world is made once;
each test has a copy of its database.
"""

from collections.abc import Iterator
from copy import deepcopy

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.database_copies import connected_to, copy_of
from tests.oracle.machine import Living

OLDEST = "(SELECT min(window_start) FROM usage_window)"  # written `oldest` below
WRONG = {
    "a millisecond was idle, not busy": """
        UPDATE usage_window SET busy_ms = busy_ms - 1, idle_ms = idle_ms + 1
        WHERE busy_ms > 0 AND window_start = oldest""",
    "a millisecond was free, not stray": """
        UPDATE usage_window SET stray_ms = stray_ms - 1, free_ms = free_ms + 1
        WHERE stray_ms > 0 AND window_start = oldest""",
    "a line is lost": "DELETE FROM usage_window WHERE pod_id <> 0 AND window_start = oldest",
    "a division is an estimate": """
        UPDATE usage_window SET flags = flags | 1 WHERE pod_id <> 0 AND window_start = oldest""",
    "a hold began later": "UPDATE accounting_podhold SET bound_ms = bound_ms + 1",
    "a hold is of more units": "UPDATE accounting_podhold SET units = units + 1",
    "a GPU came later": "UPDATE accounting_gpupresence SET start_ms = start_ms + 1",
    "an hour is not its windows": """
        UPDATE usage_hour SET busy_ms = busy_ms - 1, idle_ms = idle_ms + 1
        WHERE busy_ms > 0""",
    "a day is not its hours": """
        UPDATE usage_day SET busy_ms = busy_ms - 1, idle_ms = idle_ms + 1
        WHERE busy_ms > 0""",
    "a window is still due": """
        UPDATE accounting_ingestwindow SET state = 'failed',
            next_attempt_at = clock_timestamp() + interval '1 hour' WHERE window_start = oldest""",
    "energy was spent twice": "UPDATE intensity_window SET energy_mj = 2 * energy_mj",
    "a sample counts twice": """
        UPDATE usage_window SET samples_used = samples_used + 1 WHERE window_start = oldest""",
}


@pytest.fixture(scope="module")
def world(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[str, Living]]:
    """A world that is up to date, and the name of its database."""
    del django_db_setup
    living = Living()
    empty = connection.settings_dict["NAME"]
    with django_db_blocker.unblock(), copy_of(empty, f"{empty}_world") as name:
        with connected_to(name):
            living.begin(chance=7)
            living.a_pod_starts(node="n0", units=1, name="train", is_labelled=True)
            for _ in range(3):
                living.time_passes(scrapes=10, lost=0.0)
            living.take([])
        yield name, living
    living.folder.cleanup()


@pytest.fixture
def living(
    world: tuple[str, Living], django_db_blocker: DjangoDbBlocker
) -> Iterator[Living]:
    """The world in a database of its own."""
    template, found = world
    known = deepcopy(found.known)
    name = f"{template}_of_test"
    with django_db_blocker.unblock(), copy_of(template, name), connected_to(name):
        yield found
    found.known = known


def test_a_step_finds_nothing_where_nothing_is_wrong(living: Living) -> None:
    living.take([])


@pytest.mark.parametrize("wrong", WRONG)
def test_a_step_finds(living: Living, wrong: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(WRONG[wrong].replace("oldest", OLDEST))
        assert cursor.rowcount > 0
    with pytest.raises((AssertionError, SystemExit)):  # `verify` exits
        living.take([])
