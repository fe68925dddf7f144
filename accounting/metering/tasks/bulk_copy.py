"""Many rows of evidence at once: COPY, then one statement.

Django's bulk_create builds an object and a parameter for every value; COPY writes a window's
evidence of thousands of GPUs several times faster.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, models
from psycopg import Copy
from psycopg.types.json import Jsonb

Row = Sequence[object]


@contextmanager
def copying(statement: str) -> Iterator[Copy]:
    """An open COPY; its errors are Django's, as those of any statement."""
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(statement) as copy,
    ):
        yield copy


def append(
    model: type[models.Model], names: Sequence[str], rows: Iterable[Row]
) -> None:
    """Insert rows.

    Args:
        model: of the table.
        names: fields of the rows' values; all fields without a default in the database.
        rows: values as the database stores them; a dict is JSON.
    """
    _copy(_table(model), _columns(model, names), rows)


def merge(
    model: type[models.Model],
    names: Sequence[str],
    rows: Sequence[Row],
    *,
    key: Sequence[str],
    update: Sequence[str],
) -> None:
    """Insert rows, or update those whose key exists, in a transaction.

    Args:
        model, names, rows: as in `append`; no two rows with one key.
        key: fields of a unique constraint.
        update: fields that are written if a row exists; without any, the row does not change.
    """
    if not rows:
        return
    table = _table(model)
    columns = ", ".join(_columns(model, names))
    changed = [f"{name} = excluded.{name}" for name in _columns(model, update)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
            f" SELECT {columns} FROM {table} WITH NO DATA"
        )
        _copy("incoming", _columns(model, names), rows)
        cursor.execute(
            f"""
            INSERT INTO {table} ({columns}) SELECT {columns} FROM incoming
            ON CONFLICT ({", ".join(_columns(model, key))})
                DO {f"UPDATE SET {', '.join(changed)}" if changed else "NOTHING"}
            """
        )
        cursor.execute("DROP TABLE incoming")


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table  # noqa: SLF001  # documented API of Django


def _columns(model: type[models.Model], names: Sequence[str]) -> list[str]:
    fields = [model._meta.get_field(name) for name in names]  # noqa: SLF001  # documented
    return [f'"{field.column}"' for field in fields]  # type: ignore[union-attr]  # no relation


def _copy(table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with copying(statement) as copy:
        for row in rows:
            copy.write_row(
                [Jsonb(value) if isinstance(value, dict) else value for value in row]
            )
