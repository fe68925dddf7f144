"""Advisory locks of Postgres: one table of keys, so that no key is used twice."""

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
    "audit": 7110,  # taken by history triggers
    "booking": 7111,
    "prices": 7112,
    "bills": 7113,
    "waste": 7114,
    "idle": 7115,
    "teams": 7116,
    "alerts": 7117,
    "digests": 7118,
    "quota-raises": 7120,
    "idle-notes": 7121,
    "recommendations": 7122,
}


def lock(space: str, number: int) -> None:
    """Hold a named lock until the transaction ends; waits for its current holder."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_SPACES[space], number])


def try_lock(space: str, number: int) -> bool:
    """Hold a named lock until the transaction ends; False, at once, if it has another holder."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s, %s)", [_SPACES[space], number]
        )
        return bool(cursor.fetchone()[0])
