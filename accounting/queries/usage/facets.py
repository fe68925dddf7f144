"""What a range can be filtered by: the values that held usage in it."""

from collections.abc import Sequence

from django.db import connection

from accounting.queries.relation import relation
from accounting.queries.selection import Selection
from accounting.queries.usage.usage import KEYS


def values_held(
    selection: Selection, names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The distinct values of some dimensions in a selection, sorted; one query.

    Args:
        selection: without the filters that are to be offered.
        names: dimensions with one key each (team, model, lifecycle, tier, namespace).
    """
    chosen = relation(selection, ())
    columns = ", ".join(f"array_agg(DISTINCT {KEYS[name][0][1]})" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} {chosen.text()} AND u.namespace_id <> 0",
            chosen.parameters,
        )
        found = cursor.fetchone()
    return {
        name: tuple(sorted(value or "" for value in values or ()))
        for name, values in zip(names, found, strict=True)
    }
