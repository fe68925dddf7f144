"""A ledger of days for each test, in a transaction that is rolled back."""

from collections.abc import Iterator

import pytest
import time_machine

from tests.integration.accounting.finance.days import NOW, DayLedger


@pytest.fixture
def ledger(db: None) -> Iterator[DayLedger]:
    """A ledger without time; the process clock stands still."""
    del db
    with time_machine.travel(NOW, tick=False):
        yield DayLedger.empty()
