"""Holds that are longer than their limit (scheduling.md S23)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.held_time import HeldTime, HoldLimit
from scheduler_view.savings.rules.pieces import Claim

_PART = re.compile(r"(\d+)([smhd])")
_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def limit_of(text: str) -> int | None:
    """A limit such as `90m`, `12h` or `1d12h` in milliseconds; None for other texts and 0."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(int(number) * _MS[unit] for number, unit in parts) or None


@dataclass(frozen=True, slots=True)
class DurationLimits:
    """The longest holds of tiers and teams in milliseconds, by name and by slug."""

    tiers: Mapping[str, int] = field(default_factory=dict)
    teams: Mapping[str, int] = field(default_factory=dict)

    def of(self, tier: str, team: str) -> HoldLimit | None:
        """The smaller one, if both have a limit, of equals that of the tier; None without any."""
        found = (
            (self.tiers.get(tier), f"tier {tier}"),
            (self.teams.get(team), f"team {team}"),
        )
        known = [
            HoldLimit(ms, f"MAX_DURATIONS, {whose}")
            for ms, whose in found
            if ms is not None
        ]
        return min(known, key=lambda one: one.limit_ms, default=None)


def duration_limits(texts: Iterable[str]) -> DurationLimits:
    """Limits from texts such as `tier:batch=12h` and `team:search=1d12h`.

    If a tier or team is named twice, the last one counts.

    Raises:
        ValueError: for another text.
    """
    found: dict[str, dict[str, int]] = {"tier": {}, "team": {}}
    for one in texts:
        name, _, written = one.partition("=")
        kind, _, subject = name.partition(":")
        limit_ms = limit_of(written)
        if kind not in found or not subject or limit_ms is None:
            raise ValueError(f"{one!r} is not a limit such as tier:batch=12h")
        found[kind][subject] = limit_ms
    return DurationLimits(found["tier"], found["team"])


def too_long(hold: HeldTime, until_ms: int) -> Claim | None:
    """The time of a hold after its limit."""
    if hold.limit is None:
        return None
    start_ms = hold.bound_ms + hold.limit.limit_ms
    end_ms = until_ms if hold.ended_ms is None else hold.ended_ms
    if end_ms <= start_ms:
        return None
    evidence = {
        "limit_ms": hold.limit.limit_ms,
        "limit_from": hold.limit.source,
        "held_ms": end_ms - hold.bound_ms,
    }
    return Claim(
        WasteRule.TOO_LONG, start_ms, end_ms, takes_busy=True, evidence=evidence
    )
