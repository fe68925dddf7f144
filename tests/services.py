"""The embedded services of a run of tests."""

from pathlib import Path

import psycopg

from portal.embedded import lease
from portal.embedded.paths import HomePaths


def started(home: Path) -> HomePaths:
    """Start them in a folder, for as long as this process runs.

    PostgreSQL gathers no statistics by itself. Rows come and go with every test, so that it
    finds tables with many pages and no rows, and then joins thousands of rows one by one: one
    import took 15 s or 210 s. Without statistics it goes by the size of the tables.
    """
    places = lease.acquire(home, is_temporary=True)
    with psycopg.connect(places.database_url, autocommit=True) as database:
        database.execute("ALTER SYSTEM SET autovacuum = off")
        database.execute("SELECT pg_reload_conf()")
    return places
