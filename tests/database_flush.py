"""Empty the test database after a test that commits, in milliseconds.

Django truncates all of its tables, a hundred and more, and then makes content types and
permissions anew: half a second, after each of hundreds of tests that have written to ten. To
truncate a partition costs as much as to make it: rows are deleted instead, where there are any.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus

from tests.migrated import COMMON_PARTITIONS

KEPT = ("django_migrations", "django_content_type", "auth_permission")
PARTITIONS = 60  # more of them make every question to the facts slow
# Bytes of a partition that is emptied by TRUNCATE. Rows that tests have rolled back stay in its
# file, thousands in a run, and each question to it reads them.
LARGE = 64 * 1024
# a table that never had a row has no file: only the others are looked into
TABLES = """
    SELECT c.oid::regclass::text, c.relispartition, pg_relation_size(c.oid)
    FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.relname <> ALL(%s)
    ORDER BY 1
"""


def empty() -> None:
    """Delete all rows but Django's own lists; sequences go on.

    Where tests have left many partitions, all but the common ones are dropped.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(TABLES, [list(KEPT)])
        found = cursor.fetchall()
        partitions = {name: size for name, is_partition, size in found if is_partition}
        dropped = partitions.keys() - COMMON_PARTITIONS
        if len(dropped) <= PARTITIONS:
            dropped = set()
        large = {name for name, size in partitions.items() if size > LARGE} - dropped
        for verb, names in (("DROP", dropped), ("TRUNCATE", large)):
            if names:
                cursor.execute(f"{verb} TABLE {', '.join(sorted(names))}")
        done = dropped | large
        _delete(cursor, [name for name, _, size in found if size and name not in done])


def like_new() -> None:
    """Leave nothing of a test in the session with the database; it stays open.

    Django closes it. A new one is a new process of PostgreSQL that reads the catalog again:
    about 40 ms for each test.
    """
    if connection.connection is None:
        return
    if connection.connection.info.transaction_status != TransactionStatus.IDLE:
        connection.close()
        return
    with connection.cursor() as cursor:
        cursor.execute("DISCARD ALL")
    connection.init_connection_state()


def delete_rows(tables: Sequence[str]) -> None:
    """Delete all rows of these tables, and of no other."""
    with transaction.atomic(), connection.cursor() as cursor:
        _delete(cursor, tables)


@contextmanager
def without_triggers() -> Iterator[CursorWrapper]:
    """A cursor whose statements fire no trigger; the rest of the transaction has them again."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        cursor.execute("SET LOCAL session_replication_role = origin")


def _delete(cursor: CursorWrapper, tables: Sequence[str]) -> None:
    """Triggers and references are not asked: the audit tables refuse to lose a row."""
    used = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})"  # noqa: S608  # from the catalog
        for name in tables
    )
    if not used:
        return
    cursor.execute(used)
    filled = [name for (name,) in cursor.fetchall()]
    if filled:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("; ".join(f"DELETE FROM {name}" for name in filled))  # noqa: S608  # from the catalog
