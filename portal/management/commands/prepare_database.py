"""`manage.py prepare_database`: migrates, then grants the services' role its permissions.

It runs as the role that owns the tables (`DATABASE_URL`). If `APP_DATABASE_URL` is set, the role
of web, worker, beat and observer is created or updated with `deploy/postgres/roles.sql`: it cannot
rewrite the audit log, and owns nothing; what it owned in earlier versions is taken back first
(`take_back.sql`). Otherwise it only migrates. Safe to repeat; run it after each release.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from django.db.utils import DatabaseError, ProgrammingError
from psycopg import sql

from portal.env import BASE_DIR, database_settings

ROLES = BASE_DIR / "deploy" / "postgres" / "roles.sql"
TAKE_BACK = ROLES.with_name("take_back.sql")
IN_FILE = "ledger_app"  # the name of the role in the file


class Command(BaseCommand):
    """Exits with 0; with an error message if the role cannot be created."""

    help = "Run migrations, and grant the services' database role its permissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """No arguments: the environment has all settings."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, then update the role; its settings are checked before anything is done."""
        url = settings.ENVIRONMENT.app_database_url
        app = None if url is None else database_settings(url.get_secret_value())
        own = connection.settings_dict
        if app and (app["USER"] == own["USER"] or app["NAME"] != own["NAME"]):
            raise CommandError(
                "APP_DATABASE_URL must use the database of DATABASE_URL with another role"
            )
        try:
            with transaction.atomic():
                if app:
                    run_file(
                        TAKE_BACK, app["USER"]
                    )  # before anything runs as the owner
        except DatabaseError as error:
            raise CommandError(str(error).strip().splitlines()[0]) from None
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
        if _is_superuser():
            self.stderr.write(
                f"{own['USER']} is a superuser, which migrations do not need: docs/operations.md, "
                '"Audit record", says how to migrate as another role'
            )


def make_role(name: str, password: str, path: Path) -> None:
    """Run the file for a role, and set its password; in a transaction.

    Args:
        name: of the role; letters, digits and underscores, as the environment checks.
        password: empty if the role signs in in another way, for example by certificate.
        path: of the file.

    Raises:
        ProgrammingError: the current role may not create roles.
    """
    run_file(path, name)
    with connection.cursor() as cursor:
        role = sql.Identifier(name)
        cursor.execute(sql.SQL("ALTER ROLE {} LOGIN").format(role))
        if password:
            secret = sql.Literal(_scrambled(name, password))
            cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, secret))


def run_file(path: Path, role: str) -> None:
    """Run a file of deploy/postgres for a role, in a transaction.

    The transaction is ours: of two in parallel, the second waits for the first.
    """
    text = path.read_text().replace(IN_FILE, role)
    text = text.replace("BEGIN;\n", "", 1).replace("COMMIT;\n", "", 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [role])
        cursor.execute(text)


def _is_superuser() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return bool(cursor.fetchone()[0])


def _scrambled(name: str, password: str) -> str:
    """A password hash as PostgreSQL stores it, so that the server never logs the password."""
    inner = connection.connection.pgconn
    found: bytes = inner.encrypt_password(
        password.encode(), name.encode(), b"scram-sha-256"
    )
    return found.decode()
