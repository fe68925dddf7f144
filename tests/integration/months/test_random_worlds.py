"""Random ledgers by number: the product books what the reference books (docs/money.md).

The product gets the rows of each world in another order; of every fourth one it gets windows that
it rolls up itself. `make test` takes 25 new numbers and says which; `MONEY_SEED=17 MONEY_WORLDS=1`
repeats one, and MONEY_WORLDS=1000 takes many.
"""

import os
import time
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from django.db import transaction

from accounting.metering.tasks.facts import partitions
from tests.integration.months.answer import answer
from tests.oracle.money.answers import step_answer
from tests.oracle.money.ledger import Ledger
from tests.oracle.money.worlds import steps_of

ROLLED_UP = 4  # one in so many: it takes three times as long
COUNT = int(os.environ.get("MONEY_WORLDS") or 25)
FIRST = int(os.environ.get("MONEY_SEED") or time.time_ns() % 10**6)
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(60 + 12 * COUNT)]


@pytest.fixture(autouse=True)
def days() -> None:
    """Partitions of the days that the worlds use."""
    partitions.ensure(
        [partitions.DAYS],
        datetime(2026, 9, 1, tzinfo=UTC),
        datetime(2027, 6, 1, tzinfo=UTC),
    )


def test_random_ledgers_are_booked_as_by_the_reference() -> None:
    """One test for all worlds: partitions of nine months take longer than a world."""
    for number in range(FIRST, FIRST + COUNT):
        with transaction.atomic():
            _is_booked_as_by_the_reference(number)
            transaction.set_rollback(True)


def _is_booked_as_by_the_reference(number: int) -> None:
    ledger = Ledger()
    for at, step in enumerate(steps_of(number)):
        expected = step_answer(ledger, step)
        found = answer(
            _in_another_order(step, Random(number)),
            is_rolled_up=number % ROLLED_UP == 0,
        )
        where = f"MONEY_SEED={number} MONEY_WORLDS=1, step {at}"
        assert found == expected, where


def _in_another_order(step: dict[str, Any], random: Random) -> dict[str, Any]:
    if "world" not in step:
        return step
    world = dict(step["world"])
    for name in ("prices", "conversions", "facts", "entries"):
        world[name] = random.sample(world[name], len(world[name]))
    return step | {"world": world}
