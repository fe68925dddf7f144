"""The values by which a range can be filtered: those with usage in it."""

from collections.abc import Sequence

from django.db import connection

from accounting.kit.reads.dimensions import named
from accounting.kit.reads.selection import Selection
from accounting.usage.reads.relation.relation import relation


def values_held(
    selection: Selection, names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The distinct values of some dimensions in a selection, sorted; one query.

    Args:
        selection: without filters of these dimensions.
        names: dimensions.
    """
    chosen = relation(selection, names)
    columns = ", ".join(f"{one.sql} AS {one.name}" for one in named(names))
    lists = ", ".join(f"array_agg(DISTINCT {one.name})" for one in named(names))
    # Together first: few of all rows differ in these, and each list has to sort what it gets.
    together = f"SELECT DISTINCT {columns} {chosen.text()} AND {chosen.is_held}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {lists} FROM ({together}) u", chosen.parameters)
        found = cursor.fetchone()
    return {
        name: tuple(sorted(value or "" for value in values or ()))
        for name, values in zip(names, found, strict=True)
    }
