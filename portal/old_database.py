"""Recognizes a database that this version cannot upgrade, before anything in it is changed.

Before the first release our apps had other migrations (docs/decisions/0025). Such a database has
their names, and lacks the first migration of this version.
"""

from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from portal.embedded.errors import ServicesError

OURS = ("accounting", "scheduler_view")


class OldDatabaseError(ServicesError):
    """The database was created before the first release; the message explains what to do."""


def old_migrations(loader: MigrationLoader) -> list[str]:
    """Applied migrations of apps whose first migration is missing; empty for a valid database.

    Args:
        loader: has the migrations of this version, and those of the database.
    """
    found = []
    for app in OURS:
        names = [name for label, name in loader.applied_migrations if label == app]
        firsts = {name for _, name in loader.graph.root_nodes(app)}
        if firsts.isdisjoint(names):
            found += [f"{app}.{name}" for name in names]
    return sorted(found)


def refuse(loader: MigrationLoader) -> None:
    """Do nothing for a database of this version, or an empty one.

    Raises:
        OldDatabaseError: nothing was changed in it.
    """
    if found := old_migrations(loader):
        raise OldDatabaseError(_refusal(found))


def refuse_to_migrate(using: str, **_others: Any) -> None:
    """Receive `pre_migrate`, which every migration sends, including `manage.py migrate`.

    Raises:
        CommandError: the database is an old one.
    """
    try:
        refuse(MigrationLoader(connections[using]))
    except OldDatabaseError as error:
        raise CommandError(str(error)) from None


def is_demo() -> bool:
    """True if the database is the embedded one, in the home of a demo."""
    return settings.ENVIRONMENT.database_url is None and settings.HOME.demo.exists()


def how_to_keep() -> str:
    """How to move the embedded database away and start with a new one."""
    folder = settings.HOME.postgres
    return (
        f"Stop all processes that use it and move it away: `mv '{folder}' '{folder}-old'`. Then "
        "fill a"
        " new one with `manage.py configure` and `manage.py import_metrics`"
    )


def _refusal(found: list[str]) -> str:
    """The finding, and what to do with a database of this kind, in one line."""
    if is_demo():
        place = f"the demo in {settings.HOME.home}"
        remedy = "`make demo` deletes it and starts again"
    elif settings.ENVIRONMENT.database_url is None:
        place = f"the database in {settings.HOME.home}"
        remedy = how_to_keep()
    else:
        place = f"the database {settings.DATABASES['default']['NAME']}"
        remedy = (
            "Create an empty database, set DATABASE_URL to it, and fill it with"
            " `manage.py configure` and `manage.py import_metrics`"
        )
    return (
        f"{place} was made by a version before the first release, with other migrations"
        f" ({found[-1]}; {len(found)} in all). It cannot be upgraded, and nothing in it was"
        f' changed. {remedy} (docs/operations.md, "Upgrades")'
    )
