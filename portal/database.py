"""Makes sure that there is a database with our tables before a command starts."""

import gc
import sys

from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from portal.embedded import lease
from portal.embedded.errors import ServicesError
from portal.old_database import refuse

MIGRATION_LOCK = 0x6770756C  # "gpul": two first commands in parallel migrate once


def ready(*, migrate: bool = True) -> None:
    """Start or join the embedded services if needed, and migrate the tables.

    An empty database is migrated, and so is the embedded one after an upgrade. An external database
    with tables of an older version is not changed: its owner decides when to migrate it.

    Raises:
        OldDatabaseError: it was created before the first release; it is not changed.
        ServicesError: it cannot be reached or must be migrated manually.
    """
    environment = settings.ENVIRONMENT
    is_embedded = environment.database_url is None
    if is_embedded or environment.redis_url is None:
        lease.acquire(settings.HOME.home)
    try:
        connection.ensure_connection()
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        raise ServicesError(f"the database cannot be reached: {reason}") from None
    if migrate:
        _bring_up(may_upgrade=is_embedded)


def _bring_up(*, may_upgrade: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
    try:
        executor = MigrationExecutor(connection)
        refuse(executor.loader)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if not plan:
            return
        if executor.loader.applied_migrations and not may_upgrade:
            names = ", ".join(str(migration) for migration, _ in plan[:3])
            raise ServicesError(
                f"the database lacks {len(plan)} migrations ({names}, ...):"
                " run `manage.py migrate`"
            )
        sys.stderr.write("gpu-ledger: preparing the database\n")
        call_command("migrate", verbosity=0, interactive=False)
        gc.collect()  # what Django remembered of the models between two migrations: 30 MB
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
