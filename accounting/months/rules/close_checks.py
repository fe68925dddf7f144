"""What is checked before a period is closed, and when an override holds (money.md M27).

A check that blocks stops the close. Some may be overridden by two people, for the values that
they saw: a worse value asks again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Any

from accounting.core.decimal_text import plain

CONFIRM_WITHIN = timedelta(hours=24)
REASON_LENGTHS = range(10, 201)  # characters, after spaces at both ends are removed
PLACES = Decimal("0.000001")
SETTLED_HOURS = 72  # after its end late samples and corrections of a month have arrived


class Level(StrEnum):
    """What a check says about a close."""

    BLOCK = "block"
    WARNING = "warning"
    PASSED = "passed"


class Unit(StrEnum):
    """Of a check's values."""

    HOURS = "hours"
    COUNT = "count"
    MS = "ms"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Rule:
    """One check.

    Attributes:
        threshold: up to it, the check passes; from it on where `is_lower_worse`.
        is_overridable: whether two people may close anyway.
        is_lower_worse: a lower value is worse, as for coverage.
    """

    code: str
    unit: Unit
    threshold: Decimal
    is_overridable: bool = False
    is_lower_worse: bool = False
    fails_as: Level = Level.BLOCK

    def is_worse(self, value: Decimal, than: Decimal) -> bool:
        """Whether a value is worse than another one."""
        return value < than if self.is_lower_worse else value > than

    def fails(self, value: Decimal) -> bool:
        """Whether a value is beyond the threshold."""
        return self.is_worse(value, self.threshold)


_NONE = Decimal(0)


def _overridable(code: str, unit: Unit, threshold: Decimal = _NONE) -> Rule:
    return Rule(code, unit, threshold, is_overridable=True)


def _at_least(code: str, unit: Unit, threshold: Decimal) -> Rule:
    return Rule(code, unit, threshold, is_overridable=True, is_lower_worse=True)


def _warning(code: str, unit: Unit, threshold: Decimal = _NONE) -> Rule:
    return Rule(code, unit, threshold, fails_as=Level.WARNING)


RULES = {
    rule.code: rule
    for rule in (
        Rule("over", Unit.HOURS, _NONE),
        _at_least("settled", Unit.HOURS, Decimal(SETTLED_HOURS)),
        Rule("order", Unit.COUNT, _NONE),
        _overridable("windows", Unit.COUNT),
        Rule("hours", Unit.COUNT, _NONE),
        Rule("conservation", Unit.COUNT, _NONE),
        _at_least("coverage", Unit.SHARE, Decimal("0.99")),
        _overridable("unpriced", Unit.MS),
        _overridable("unconverted", Unit.MS),
        _overridable("unmapped", Unit.SHARE, Decimal("0.01")),
        _overridable("entries", Unit.COUNT),
        _overridable("without_gpus", Unit.MS),
        _overridable("never_sampled", Unit.MS),
        _warning("unmapped_any", Unit.MS),
        Rule(
            "team_coverage",
            Unit.SHARE,
            Decimal("0.95"),
            is_lower_worse=True,
            fails_as=Level.WARNING,
        ),
        _warning("dark", Unit.SHARE, Decimal("0.01")),
        _warning("estimated", Unit.SHARE, Decimal("0.10")),
        _warning("contests", Unit.COUNT),
        _warning("bills", Unit.COUNT),
        _warning("moved", Unit.SHARE, Decimal("0.30")),
    )
}
"""Every check in the order in which it is shown."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that a check found, such as a cluster with its coverage."""

    subject: str
    value: Decimal


@dataclass(frozen=True, slots=True)
class Override:
    """A request to close despite a check.

    Attributes:
        seen: the value of each cause when it was requested.
        confirmed_by: "" until a second person confirms it.
    """

    id: int
    code: str
    reason: str
    requested_by: str
    requested_at: datetime
    seen: Mapping[str, Decimal]
    confirmed_by: str = ""
    confirmed_at: datetime | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether a second person has confirmed it."""
        return self.confirmed_at is not None

    def is_open(self, now: datetime) -> bool:
        """Whether it is confirmed, or may still be."""
        return self.is_confirmed or now < self.requested_at + CONFIRM_WITHIN

    def covers(self, causes: Iterable[Cause]) -> bool:
        """Whether nothing is worse than what was seen."""
        rule = RULES[self.code]
        return all(
            one.subject in self.seen
            and not rule.is_worse(one.value, self.seen[one.subject])
            for one in causes
        )


@dataclass(frozen=True, slots=True)
class CloseCheck:
    """The result of one check.

    Attributes:
        code: a key of `RULES`.
        value, threshold: in `unit`; the value is the worst of its causes.
        message: a sentence.
        link: the address of the page that corrects it; "" if only time does.
        causes: what is beyond the threshold, worst first.
        override: the one in effect, or the one that waits for a second person.
    """

    code: str
    level: Level
    is_overridable: bool
    value: Decimal
    threshold: Decimal
    unit: Unit
    message: str
    link: str
    causes: tuple[Cause, ...] = field(default=())
    override: Override | None = None

    @property
    def is_overridden(self) -> bool:
        """Whether two people have overridden it."""
        return self.override is not None and self.override.is_confirmed

    @property
    def is_blocking(self) -> bool:
        """Whether it stops the close."""
        return self.level is Level.BLOCK and not self.is_overridden

    def _text(self, value: Decimal) -> str:
        """At most six places, never less bad than it is: what fails is beyond the threshold."""
        worse = ROUND_FLOOR if RULES[self.code].is_lower_worse else ROUND_CEILING
        return plain(value.quantize(PLACES, worse))

    def fields(self) -> dict[str, Any]:
        """For JSON: numbers are strings with at most six places."""
        one = self.override
        return {
            "code": self.code,
            "level": str(self.level),
            "is_overridable": self.is_overridable,
            "value": self._text(self.value),
            "threshold": plain(self.threshold),
            "unit": str(self.unit),
            "message": self.message,
            "link": self.link,
            "causes": [
                {"subject": cause.subject, "value": self._text(cause.value)}
                for cause in self.causes
            ],
            "override": one
            and {
                "id": one.id,
                "reason": one.reason,
                "requested_by": one.requested_by,
                "requested_at": one.requested_at.isoformat(),
                "confirmed_by": one.confirmed_by,
                "confirmed_at": one.confirmed_at and one.confirmed_at.isoformat(),
            },
        }
