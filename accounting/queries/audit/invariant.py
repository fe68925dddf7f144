"""An invariant that a database can show, and what was found of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant: what must hold, and a query for what breaks it."""

    name: str
    statement: str
    query: str  # rows are violations: (what, found, wanted)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found."""

    check: Check
    checked: int
    violations: tuple[tuple[str, str, str], ...]

    @property
    def holds(self) -> bool:
        """True when nothing breaks it."""
        return not self.violations
