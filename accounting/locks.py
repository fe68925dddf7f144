"""Advisory locks of Postgres: one dictionary of keys, so that none is used twice."""

from django.db import connection

_SPACES = {
    "evidence": 7101,
    "facts": 7102,
    "rollup": 7103,
    "partitions": 7104,
    "windows": 7105,
    "push": 7106,
    "drift": 7107,
    "people": 7108,
    "sign-ins": 7109,
    "audit": 7110,  # taken by the triggers of history
}


def lock(space: str, number: int) -> None:
    """Hold a named lock until the transaction ends; waits for whoever has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_SPACES[space], number])
