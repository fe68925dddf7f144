"""The measures that Explore shows. Pure."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from accounting.core.interval import HOUR_MS
from accounting.usage.rules.rows import UsageRow


@dataclass(frozen=True, slots=True)
class ExploreMeasure:
    """A figure of a row.

    Attributes:
        name: in addresses.
        label: on pages; `unit` is with it where an amount has none.
        field: of a `UsageRow`.
        is_share: it does not add up: that of several rows is that of their sum.
    """

    name: str
    label: str
    field: str
    unit: str = ""
    is_share: bool = False

    @property
    def is_money(self) -> bool:
        """Whether it is an amount of money."""
        return not self.unit and not self.is_share

    def of(self, row: UsageRow) -> Decimal | None:
        """The figure of a row: money, GPU-hours or a share; None if it has none."""
        value = getattr(row, self.field)
        if value is None:
            return None
        if self.is_money:
            return Decimal(value.amount)
        return Decimal(str(value)) if self.is_share else Decimal(value) / HOUR_MS


MEASURES = {
    one.name: one
    for one in (
        ExploreMeasure("cost", "Cost", "charge"),
        ExploreMeasure("idle_cost", "Idle cost", "idle_charge"),
        ExploreMeasure("held", "Held", "allocated_ms", "GPU-h"),
        ExploreMeasure("busy", "Busy", "busy_ms", "GPU-h"),
        ExploreMeasure("idle", "Idle", "idle_ms", "GPU-h"),
        ExploreMeasure("unknown", "No data", "unknown_ms", "GPU-h"),
        ExploreMeasure("busy_share", "Busy share", "efficiency", is_share=True),
    )
}


class Audience(StrEnum):
    """Who sees a saved view."""

    MINE = "mine"
    TEAM = "team"
    ALL = "all"
