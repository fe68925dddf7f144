"""A row of waste: the findings of one rule about one work unit, family, node or pool."""

from decimal import Decimal

from accounting.kit.rows import (
    GpuHours,
    Moment,
    TextOrNull,
    column,
    derived,
    listed,
    member,
)
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.wording import (
    AT_RISK,
    NOT_IN_TOTALS,
    rule_text,
)


@listed("WasteRow")
class WasteRow:
    """The findings of one rule about one work unit or node, on the chosen days.

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
        is_at_risk: no saving is claimed.
    """

    rule: str = column(choices=WasteRule)

    @member("of the rule in docs/scheduling.md")
    def number(self) -> str:
        """Of the rule: S28."""
        return rule_text(self.rule).number

    @member("no saving is claimed")
    def is_at_risk(self) -> bool:
        """True if no saving is claimed."""
        return self.rule in AT_RISK

    @member("false if its time may be in other rows as well, or no saving is claimed")
    def is_in_totals(self) -> bool:
        """False if its time may be in other rows as well, or no saving is claimed."""
        return WasteRule(self.rule) not in NOT_IN_TOTALS

    cluster: str = column()
    team: TextOrNull = column("null for free time of a node")
    namespace: TextOrNull = column()
    kind: TextOrNull = column(name="workload_kind")
    workload: TextOrNull = column()
    node: TextOrNull = column("null for held time and free time of a pool")
    pool: TextOrNull = column("resource and model, for free time of a pool")

    @member(
        "work units of one family: `workload` is their name without generated suffixes"
    )
    def works(self) -> int:
        """How many work units it has; 1 for free time."""
        return len(self.keys)

    findings: int = column()
    pods: int = column()
    start: Moment = column(
        "begin of the first finding, which may be before `from`", name="first_from"
    )
    end: Moment = column("end of the last finding", name="last_to")
    gpu_ms: int = column("share-weighted milliseconds")
    gpu_hours = derived(GpuHours, "gpu_ms")
    amount: Decimal | None = column("null without a price")
    amount_low: Decimal | None = column(
        "the least that it may come to; `amount` is the most"
    )

    @member("the amount divided by `measured_days`")
    def amount_per_day(self) -> Decimal | None:
        """The amount divided by the measured days."""
        return None if self.amount is None else self.amount / max(self.days, 1)

    currency: TextOrNull = column()
    unpriced_ms: GpuHours = column(name="unpriced_gpu_hours")
    days: int = column(
        "days of the range whose findings are computed", name="measured_days"
    )
    team_name: str
    team_slot: int
    family: str
    raw: Decimal
    raw_low: Decimal
    key: tuple[int, ...]
    more: tuple[tuple[int, ...], ...] = ()

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The keys of all work of the row."""
        return self.key, *self.more

    @property
    def advice(self) -> str:
        """What to do about work; about a node, it depends on how its GPUs are divided."""
        return rule_text(self.rule).advice

    @property
    def address(self) -> str:
        """Its family with the namespace, as addresses of pages have it: `lab/trainer`."""
        return f"{self.namespace}/{self.family}"

    @property
    def subject(self) -> str:
        """The work, node or pool that it is about."""
        return self.workload or self.node or self.pool

    @property
    def has_range(self) -> bool:
        """True if the amount is the most that it may come to."""
        return self.amount_low != self.amount
