"""The two columns of the ledger and their tables."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from accounting.metering.sql.states_sql import STATE_COLUMNS
from accounting.prices.sql.charge_sql import (
    CHARGE_COLUMNS,
    HARD_KEY_COLUMNS,
    INTENSITY_COLUMNS,
    hard_facts,
    priced_facts,
    unpriced_facts,
)


@dataclass(frozen=True, slots=True)
class Column:
    """The tables of one column of the ledger.

    Attributes:
        name: prefix of the table names.
        facts: a SELECT of the five-minute facts with these columns and some finer ones.
        columns: columns of hours and days beside the cluster and the hour.
    """

    name: str
    facts: Callable[[tuple[str, ...]], str]
    columns: tuple[str, ...]

    @property
    def hours(self) -> str:
        """The table of hours."""
        return f"{self.name}_hour"

    @property
    def days(self) -> str:
        """The table of days."""
        return f"{self.name}_day"

    @property
    def family_days(self) -> str:
        """The table of days by family, if `has_family_days`."""
        return f"{self.name}_family_day"

    @property
    def has_family_days(self) -> bool:
        """False for activity, which has days by workload only."""
        return self.name == USAGE.name


USAGE = Column("usage", partial(priced_facts, is_page=True), CHARGE_COLUMNS)
INTENSITY = Column(
    "intensity",
    partial(hard_facts, is_page=True),
    (*HARD_KEY_COLUMNS, *INTENSITY_COLUMNS),
)
STATES = Column(  # without teams and money: summing facts without prices is much faster
    "usage", unpriced_facts, (*STATE_COLUMNS, "samples_expected", "samples_used")
)
