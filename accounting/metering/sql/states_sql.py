"""Sums of the states of GPU time in SQL: held, wall-clock, and each state.

All queries over facts or rollups use these texts; a test finds copies.
`accounting/core/efficiency.py` is the same in Python.
"""

from collections.abc import Sequence

from accounting.core.ledger_line import HELD_STATES, PLATFORM_STATES, STATES

STATE_COLUMNS = tuple(f"{state}_ms" for state in STATES)


def held(alias: str = "") -> str:
    """Milliseconds that pods held: busy, idle and unknown.

    Args:
        alias: of a table or subquery with a column for each state; "" for none.
    """
    return _total(HELD_STATES, alias)


def platform(alias: str = "") -> str:
    """Milliseconds that nobody held: free, stranded, stray and dark (rules.md N29)."""
    return _total(PLATFORM_STATES, alias)


def wall(alias: str = "") -> str:
    """Milliseconds in which GPUs existed: all seven states."""
    return _total(STATES, alias)


def sums(alias: str = "", states: Sequence[str] = STATES) -> str:
    """Columns of a SELECT: the sum of each state, under the state's own column name."""
    return ", ".join(
        f"sum({_column(state, alias)})::bigint AS {state}_ms" for state in states
    )


def columns(alias: str = "", states: Sequence[str] = STATES) -> str:
    """Columns of a SELECT: each state."""
    return ", ".join(_column(state, alias) for state in states)


def _total(states: Sequence[str], alias: str) -> str:
    return f"({' + '.join(_column(state, alias) for state in states)})"


def _column(state: str, alias: str) -> str:
    return f"{alias}.{state}_ms" if alias else f"{state}_ms"
