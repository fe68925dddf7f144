"""A row of waste: the findings of one rule about one work unit, family, node or pool."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.domain.waste.wording import (
    AT_RISK,
    NOT_IN_TOTALS,
    Division,
    rule_text,
)


@dataclass(frozen=True, slots=True)
class WasteRow:
    """The findings of one rule about one work unit or its family, or about one node.

    Attributes:
        team: slug; `unmapped` for held time without a team, empty for free time.
        kind, workload, family: of the work unit (rules.md N41); empty for free time.
        pool: resource and model, for free time of a pool; then `node` is empty.
        findings, pods: how many.
        start, end: of the first and the last finding; they may reach beyond the days.
        gpu_ms, amount: of the chosen days only; `amount` is None without a price.
        unpriced_ms: the part of `gpu_ms` that no amount includes.
        raw: of the same time, milliseconds x rate, exact.
        raw_low, amount_low: the least that it may come to; the same as `raw` and `amount` where
            the rule gives no range.
        key: numbers of team, workload, pod (without a workload), node, and unit or pool; 0 for
            none. `more` are those of other work of the family.
        days: measured ones of its cluster.
        division: how the GPUs of its node are divided.
        is_at_risk: no saving is claimed.
    """

    rule: str
    cluster: str
    team: str
    team_name: str
    team_slot: int
    namespace: str
    kind: str
    workload: str
    family: str
    node: str
    pool: str
    findings: int
    pods: int
    start: datetime
    end: datetime
    gpu_ms: int
    unpriced_ms: int
    amount: Decimal | None
    amount_low: Decimal | None
    raw: Decimal
    raw_low: Decimal
    currency: str
    days: int
    key: tuple[int, ...]
    division: Division = Division.WHOLE
    more: tuple[tuple[int, ...], ...] = ()

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The keys of all work of the row."""
        return self.key, *self.more

    @property
    def works(self) -> int:
        """How many work units it has; 1 for free time."""
        return len(self.keys)

    @property
    def number(self) -> str:
        """Of the rule: S28."""
        return rule_text(self.rule).number

    @property
    def advice(self) -> str:
        """What to do about it."""
        return rule_text(self.rule).advice_for(self.division)

    @property
    def is_at_risk(self) -> bool:
        """True if no saving is claimed."""
        return self.rule in AT_RISK

    @property
    def is_in_totals(self) -> bool:
        """False if its time may be in other rows as well, or no saving is claimed."""
        return WasteRule(self.rule) not in NOT_IN_TOTALS

    @property
    def subject(self) -> str:
        """The work, node or pool that it is about."""
        return self.workload or self.node or self.pool

    @property
    def has_range(self) -> bool:
        """True if the amount is the most that it may come to."""
        return self.amount_low != self.amount

    @property
    def amount_per_day(self) -> Decimal | None:
        """The amount divided by the measured days."""
        return None if self.amount is None else self.amount / max(self.days, 1)
