"""GPU activity of report rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from django.db import connection

from accounting.kit.reads.selection import Selection, check_word
from accounting.metering.rules.intensity.summary import (
    NOT_OBSERVED,
    POINTLESS,
    Intensity,
)
from accounting.prices.sql.charge_sql import over
from accounting.usage.reads.relation.relation import hard_relation
from accounting.usage.reads.usage import key_columns, usage_rows
from accounting.usage.rules.rows import UsageRow

ONLY = ("pointless",)
_NAMES = tuple(item.name for item in fields(Intensity))
_SUMS = ", ".join(f"{over(f'u.{name}', name)} AS {name}" for name in _NAMES)


def with_intensity(
    rows: Iterable[UsageRow], selection: Selection, by: Sequence[str]
) -> Iterator[UsageRow]:
    """Rows of `usage_rows` with their GPU activity, one by one; one query, by this call."""
    keys = list(key_columns(by))
    found = _fetch(selection, by)
    return (
        replace(
            row,
            hard=found.get(tuple(row.key[name] for name in keys), NOT_OBSERVED),
        )
        for row in rows
    )


def only_pointless(rows: Iterable[UsageRow], only: str | None) -> Iterable[UsageRow]:
    """All rows, or only those that were busy without work.

    Args:
        rows: with their GPU activity.
        only: `pointless` or empty.

    Raises:
        SelectionError: another value.
    """
    if only is None:
        return rows
    check_word("only", only, ONLY)
    return (row for row in rows if row.is_pointless)


def pointless_workloads(selection: Selection) -> list[UsageRow]:
    """Workloads that were busy without tensor or memory activity, the longest busy first.

    Two queries, the second only for candidates: usually the first query on the rollup of GPU
    activity finds none.
    """
    by = ("workload",)
    few = {
        key: hard
        for key, hard in _fetch(selection, by, _MAY_BE_POINTLESS).items()
        if hard.is_pointless(1.0)
    }
    if not few:
        return []
    only = {
        "namespace": tuple({namespace for namespace, *_ in few}),
        "workload": tuple({workload for _, workload, _ in few}),
    }
    narrow = replace(selection, filters={**selection.filters, **only})
    rows = [
        replace(row, hard=few[key])
        for row in usage_rows(narrow, by)
        if (key := tuple(row.key.values())) in few
    ]
    found = [row for row in rows if row.is_pointless]
    return sorted(found, key=lambda row: -row.busy_ms)


# Wider by a millionth, to which shares are rounded: the rule is that of `Intensity`.
_MAY_BE_POINTLESS = " AND ".join(
    f"sum(u.{part}_active_us) <= {POINTLESS + 1e-6} * nullif(sum(u.{part}_seen_us), 0)"
    for part in ("tensor", "dram")
)


def _fetch(
    selection: Selection, by: Sequence[str], having: str = "count(*) > 0"
) -> dict[tuple[str, ...], Intensity]:
    chosen = hard_relation(selection, by)
    columns = key_columns(by)
    names = "".join(f"{sql} AS {name}, " for name, sql in columns.items())
    grouped = ", ".join(columns.values())
    query = f"""
        SELECT {names} {_SUMS} {chosen.text()} AND {chosen.is_held}
        GROUP BY {grouped or "()"} HAVING {having}
    """  # built from this project's own constants
    with connection.cursor() as cursor:
        cursor.execute(query, chosen.parameters)
        names_of = [column.name for column in cursor.description]
        found = [dict(zip(names_of, row, strict=True)) for row in cursor.fetchall()]
    return {
        tuple(row[name] or "" for name in columns): Intensity(
            **{name: int(row[name]) for name in _NAMES}
        )
        for row in found
    }
