"""Sums of the time of one finding, by day, team and currency."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.prices.rules.charge import raw_of
from scheduler_view.savings.rules.finding import Finding, Slice, SliceKey, WasteRule


@dataclass(slots=True)
class FindingSum:
    """What one finding has so far; `start_ms` and `end_ms` are of its first and last time."""

    slices: dict[SliceKey, Slice] = field(default_factory=dict)
    start_ms: int | None = None
    end_ms: int = 0

    def add(
        self,
        key: SliceKey,
        gpu_ms: int,
        rate: Decimal | None,
        span_ms: tuple[int, int],
    ) -> None:
        """Add GPU-ms at a rate per GPU-hour; None without a price. 0 adds nothing."""
        if not gpu_ms:
            return
        start, end = span_ms
        self.start_ms = start if self.start_ms is None else min(self.start_ms, start)
        self.end_ms = max(self.end_ms, end)
        part = self.slices.setdefault(key, Slice())
        part.gpu_ms += gpu_ms
        if rate is None:
            part.unpriced_ms += gpu_ms
        else:
            part.raw += raw_of(gpu_ms, rate)

    def of_ledger(self, key: SliceKey, free_ms: int, rate: Decimal | None) -> None:
        """Say that time of a slice is free time of the ledger that no other finding has."""
        if free_ms:
            self.slices.setdefault(key, Slice()).of_ledger(free_ms, rate)

    def lower(self, key: SliceKey, raw: Fraction) -> None:
        """Add to the least that the finding may come to."""
        part = self.slices[key]
        part.raw_low = (part.raw_low or Fraction(0)) + raw

    def finding(
        self, rule: WasteRule, subject: int, evidence: Mapping[str, Any]
    ) -> Finding | None:
        """The finding; None without time."""
        if self.start_ms is None:
            return None
        return Finding(
            rule, subject, self.start_ms, self.end_ms, self.slices, dict(evidence)
        )
