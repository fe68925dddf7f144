"""`manage.py serve ROLE`: the pages, a worker or the scheduler, without containers.

Like every command it uses the embedded services without DATABASE_URL. The process becomes the role
(`portal.embedded.roles`), and uses the services for as long as it runs.
"""

import os
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from portal.embedded import lease
from portal.embedded.roles import ROLES, web

MADE_BY = {"web": "make run", "worker": "make worker", "beat": "make beat"}


class Command(BaseCommand):
    """Becomes a role; returns only if it cannot be started."""

    help = "Run the web server, a worker or the scheduler of tasks, until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The role, and the address of the pages."""
        parser.add_argument("role", choices=list(MADE_BY))
        parser.add_argument(
            "--bind",
            metavar="ADDRESS:PORT",
            help="address and port of the web server; default: those of PUBLIC_URL",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what runs, then become it."""
        role = options["role"]
        command = ROLES[role]()
        if role == "web":
            bind = options["bind"] or _own_address()
            command = web(bind)
            self.stdout.write(f"GPU Ledger is at {settings.PUBLIC_URL}/ (on {bind})")
        others = [f"`{make}`" for name, make in MADE_BY.items() if name != role]
        self.stdout.write(f"Ctrl-C stops it. {' and '.join(others)} run the rest.")
        self.stdout.flush()
        connection.close()
        lease.keep_across_exec()
        os.execv(command[0], command)  # noqa: S606  # signals must reach the role


def _own_address() -> str:
    """The loopback address and the port of PUBLIC_URL: a proxy or a person is on this machine."""
    return f"127.0.0.1:{urlsplit(settings.PUBLIC_URL).port or 8000}"
