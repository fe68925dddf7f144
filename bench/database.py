"""A scratch database for the bench, on the services of this environment."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

NAME = "gpu_ledger_bench"


@contextmanager
def database() -> Iterator[None]:
    """Django set up on a database that is dropped at the end."""
    home = None
    if not os.environ.get("DATABASE_URL"):
        from portal.embedded import lease

        home = Path(mkdtemp(prefix="gpu-ledger-bench-"))
        places = lease.acquire(home, is_temporary=True)
        os.environ |= {
            "DATABASE_URL": places.database_url,
            "REDIS_URL": places.redis_url,
        }
    try:
        with _scratch():
            yield
    finally:
        if home is not None:
            from portal.embedded import lease

            lease.release(home)


@contextmanager
def _scratch() -> Iterator[None]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {NAME}")
    connection.close()
    before = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = NAME
    call_command("migrate", verbosity=0)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
