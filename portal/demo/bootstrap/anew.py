"""Restarts a demo whose database was made before the first release: `make clean`, then start."""

import os
import subprocess
import sys

from django.conf import settings
from django.db import connection

from portal.demo.bootstrap.setup import CLUSTER
from portal.embedded import lease
from portal.embedded.errors import ServicesError
from portal.env import BASE_DIR
from portal.old_database import how_to_keep

CLEAN = BASE_DIR / "deploy" / "clean"
CLEAN_S = 120.0  # seconds; a large demo has thousands of files


def begin_anew() -> None:
    """Delete the content of the demo's home, and start this command again; does not return.

    Raises:
        ServicesError: it has clusters of a user, is in use, or cannot be deleted.
    """
    home = settings.HOME.home
    if names := _own_clusters():
        raise ServicesError(
            f"the demo in {home} was made by a version before the first release, and has"
            f" clusters of its own ({', '.join(names)}), so it is not deleted. {how_to_keep()}"
        )
    sys.stderr.write(
        f"gpu-ledger: the demo in {home} was made by a version before the first release,"
        " which cannot be upgraded; starting again\n"
    )
    connection.close()
    lease.release(home)
    if lease.keeper_lives(settings.HOME):
        raise ServicesError(
            f"{home} is in use: stop the demo and the commands that use it first"
        )
    done = subprocess.run(
        [str(CLEAN)],
        env={**os.environ, "GPU_LEDGER_HOME": str(home)},
        check=False,
        timeout=CLEAN_S,
    )
    if done.returncode:
        raise ServicesError(f"{home} could not be emptied: see above")
    # A new process, because this one has read the home, for example the secret key.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # itself


def _own_clusters() -> list[str]:
    """Up to three clusters that are not the demo's and could not be created again.

    The tables are those of another version: only columns that every version had are read.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('accounting_cluster') IS NOT NULL")
        if cursor.fetchone() == (False,):
            return []
        cursor.execute(
            "SELECT name FROM accounting_cluster WHERE NOT is_demo AND name <> %s"
            " ORDER BY name LIMIT 3",
            [CLUSTER],
        )
        return [name for (name,) in cursor.fetchall()]
