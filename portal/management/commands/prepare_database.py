"""`manage.py prepare_database`: migrates, then gives the services' role its rights.

It runs as the role that owns the tables (`DATABASE_URL`). Where `APP_DATABASE_URL` says how
web, worker, beat and observer sign in, that role is made or renewed with
`deploy/postgres/roles.sql`: it cannot rewrite what people did. Without it nothing but the
migration is done. Safe to repeat, and to be repeated after each release.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from django.db.utils import ProgrammingError
from psycopg import sql

from portal.env import BASE_DIR, database_settings

ROLES = BASE_DIR / "deploy" / "postgres" / "roles.sql"
IN_FILE = "ledger_app"  # what the file calls the role


class Command(BaseCommand):
    """Ends with 0; with an error in words where the role cannot be made."""

    help = "Run migrations, and grant the services' database role its permissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Nothing: the environment says all of it."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, then the role; what is wrong with it is said before anything is done."""
        url = settings.ENVIRONMENT.app_database_url
        app = None if url is None else database_settings(url.get_secret_value())
        own = connection.settings_dict
        if app and (app["USER"] == own["USER"] or app["NAME"] != own["NAME"]):
            raise CommandError(
                "APP_DATABASE_URL must use the database of DATABASE_URL with another role"
            )
        call_command("migrate", interactive=False, verbosity=options["verbosity"])
        if app is None:
            return
        try:
            with transaction.atomic():
                make_role(app["USER"], app["PASSWORD"], ROLES)
        except ProgrammingError as error:
            reason = str(error).strip().splitlines()[0]
            raise CommandError(
                f"the role {app['USER']} cannot be made by {own['USER']}: {reason}"
            ) from None
        self.stdout.write(f"{app['USER']} has the permissions of the services")


def make_role(name: str, password: str, path: Path) -> None:
    """Run the file for a role, and let it sign in with a password; in a transaction.

    Args:
        name: of the role; letters, digits and underscores, as the environment checks.
        password: empty where the server knows it otherwise, for example by certificate.
        path: of the file.

    Raises:
        ProgrammingError: whoever is signed in may not make roles.
    """
    text = path.read_text().replace(IN_FILE, name)
    # The transaction is ours: of two that come at once, the second waits for the first.
    text = text.replace("BEGIN;\n", "", 1).replace("COMMIT;\n", "", 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        cursor.execute(text)
        role = sql.Identifier(name)
        cursor.execute(sql.SQL("ALTER ROLE {} LOGIN").format(role))
        if password:
            secret = sql.Literal(_scrambled(name, password))
            cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, secret))


def _scrambled(name: str, password: str) -> str:
    """A password as PostgreSQL keeps it: the clear one comes into no log of the server."""
    inner = connection.connection.pgconn
    found: bytes = inner.encrypt_password(
        password.encode(), name.encode(), b"scram-sha-256"
    )
    return found.decode()
