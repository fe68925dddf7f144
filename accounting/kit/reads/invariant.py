"""An invariant that can be checked in a database, and the result of its check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant: its statement, and a query for violations, or several.

    Attributes:
        query, more: their rows are violations: (what, found, wanted).
    """

    name: str
    statement: str
    query: str
    more: tuple[str, ...] = ()

    @property
    def queries(self) -> tuple[str, ...]:
        """All of them."""
        return self.query, *self.more


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check."""

    check: Check
    checked: int
    violations: tuple[tuple[str, str, str], ...]

    @property
    def holds(self) -> bool:
        """True if there are no violations."""
        return not self.violations
