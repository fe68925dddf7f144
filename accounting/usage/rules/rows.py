"""Frozen rows that queries return, shared by pages, the API, commands and exports.

Milliseconds are share-weighted integers; money has 6 places, split over a list
by largest remainder (rules.md N28). It is the money of the time that has a price, and None
if none has; `unpriced_ms` is the time without a price (N26, decision 17).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from accounting.core.efficiency import StateTimes, times_of
from accounting.core.ledger_line import STATES
from accounting.core.money import Money, money_of_time
from accounting.metering.rules.intensity.summary import NOT_OBSERVED, Intensity


@dataclass(frozen=True, slots=True)
class UsageRow(StateTimes):
    """Held time of one combination of dimensions (`report usage`)."""

    key: dict[
        str, str
    ]  # value by dimension, in the requested order; `pod` adds more keys
    charge: Money | None
    idle_charge: Money | None
    estimated: bool
    samples_expected: int = 0
    samples_used: int = 0
    hard: Intensity = NOT_OBSERVED  # GPU activity, if requested
    unpriced_ms: int = 0  # the part of its time that has no price
    currencies: tuple[str, ...] = ()  # of its money, if several: it has no sum then

    @property
    def is_mixed(self) -> bool:
        """Whether its money is in several currencies."""
        return bool(self.currencies)

    @property
    def currency(self) -> str:
        """Of its money; "" if it has none."""
        return self.charge.currency if self.charge is not None else ""

    @property
    def is_pointless(self) -> bool:
        """True if busy, but without activity of tensor pipes or memory."""
        return self.hard.is_pointless(self.efficiency)

    def with_money(self, charge: Money | None, idle_charge: Money | None) -> "UsageRow":
        """The same time with other amounts; a chart of 200 teams has 4,000 rows.

        All fields are named: `dataclasses.replace` reads each by its name and takes twice as long.
        """
        return UsageRow(
            self.busy_ms,
            self.idle_ms,
            self.unknown_ms,
            self.key,
            charge,
            idle_charge,
            self.estimated,
            self.samples_expected,
            self.samples_used,
            self.hard,
            self.unpriced_ms,
            self.currencies,
        )


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The seven states of one combination of dimensions, and their money (`report ledger`)."""

    key: dict[str, str]
    milliseconds: dict[str, int]  # by state, in the order of STATES
    charges: dict[str, Money | None]  # by state; they sum to `wall_charge`
    samples_expected: int = 0
    samples_used: int = 0
    unpriced_ms: int = 0  # the part of its time that has no price
    currencies: tuple[str, ...] = ()  # of its money, if several: it has no sum then

    @property
    def currency(self) -> str:
        """Of its money; "" if it has none."""
        known = (one.currency for one in self.charges.values() if one is not None)
        return next((currency for currency in known if currency), "")

    @property
    def held(self) -> StateTimes:
        """The held time."""
        return times_of(self.milliseconds)

    @property
    def wall_ms(self) -> int:
        """Sum of the seven states: the time in which GPUs were present."""
        return sum(self.milliseconds[state] for state in STATES)

    @property
    def wall_charge(self) -> Money | None:
        """Sum of the seven charges; None if none of its time has a price."""
        return self.charge_of(STATES)

    def charge_of(self, states: Iterable[str]) -> Money | None:
        """The money of some states together; None if none of their time has a price."""
        return money_of_time((self.milliseconds[s], self.charges[s]) for s in states)


@dataclass(frozen=True, slots=True)
class HoldRow:
    """One hold (`report holds`, rules.md N35). Times in milliseconds since 1970."""

    id: int
    cluster: str
    namespace: str
    pod: str
    uid: str
    node: str
    resource: str
    units: int
    share: str  # "1", or a fraction such as "1/7"
    created_ms: int | None
    bound_ms: int
    ended_ms: int | None
    ended_by: str
    wait_ms: int | None  # creation of the work until bind
    admission_wait_ms: int | None  # of it: until a queue admitted it
    team: str = ""
    workload: str = ""
