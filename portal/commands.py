"""Runs one management command: services up, database migrated, errors in words."""

import sys
from collections.abc import Sequence

import django
from django.core.management import execute_from_command_line
from django.db import Error, InterfaceError, OperationalError

from portal.embedded.errors import ServicesError
from portal.env import ConfigurationError

# Commands that need no database. Any other one may be the first that a person runs.
WITHOUT_DATABASE = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "help", "version"}
)
CANNOT_RUN = 3  # beside 0 success, 1 a finding, 2 wrong use
MIGRATING = frozenset({"migrate", "prepare_database"})
AGAIN = "What was done is kept: run the command again"


def run(arguments: Sequence[str]) -> int:
    """Run `manage.py <arguments>`; returns the exit code where Django does not exit."""
    try:
        django.setup()
        if needs_database(arguments):
            from portal import database  # noqa: PLC0415  # models, after setup

            database.ready(migrate=MIGRATING.isdisjoint(arguments[1:2]))
    except (ConfigurationError, ServicesError) as error:
        sys.stderr.write(f"gpu-ledger: {error}\n")
        return CANNOT_RUN
    try:
        execute_from_command_line(list(arguments))
    except (OperationalError, InterfaceError) as error:
        reason = first_reason(error)
        sys.stderr.write(f"gpu-ledger: the database went away: {reason}. {AGAIN}\n")
        return CANNOT_RUN
    return 0


def first_reason(error: BaseException) -> str:
    """What the database said first, in one line; then all it says is "closed"."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    first = next(each for each in reversed(chain) if isinstance(each, Error))
    return str(first).strip().splitlines()[0]


def needs_database(arguments: Sequence[str]) -> bool:
    """False when the command, or a plea for help, works without a database."""
    words = list(arguments[1:])
    if not words or words[0].startswith("-") or {"-h", "--help"} & set(words):
        return False
    return words[0] not in WITHOUT_DATABASE
