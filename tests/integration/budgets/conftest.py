"""A ledger of days for each test, in a transaction that is rolled back."""

from collections.abc import Iterator

import pytest
import time_machine

from tests.integration.budgets.days import NOW, DayLedger
from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414


@pytest.fixture
def ledger(db: None) -> Iterator[DayLedger]:
    """A ledger without time; the process clock stands still."""
    del db
    with time_machine.travel(NOW, tick=False):
        yield DayLedger.empty()
