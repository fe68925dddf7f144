"""Runs one management command: services started, database migrated, errors as sentences."""

import gc
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import django
from django.core.management import execute_from_command_line, get_commands
from django.db import Error, InterfaceError, OperationalError

from portal.embedded.errors import ServicesError
from portal.env import ConfigurationError

# Commands that need no database. Any other command may be a person's first one.
WITHOUT_DATABASE = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "help", "version"}
)
CANNOT_RUN = 3  # other codes: 0 success, 1 a finding, 2 wrong use
# They run migrations, or only compare or print them.
MIGRATING = frozenset(
    {"migrate", "prepare_database", "makemigrations", "showmigrations", "sqlmigrate"}
)
OURS = frozenset({"portal", "accounting", "scheduler_view"})  # apps
AGAIN = "Completed work is kept. Run the command again"


def run(arguments: Sequence[str]) -> int:
    """Run `manage.py <arguments>`; returns the exit code if Django does not exit.

    The garbage collector, which `manage.py` has turned off, begins with the command. What was
    imported until then stays: to search it took a sixth of the time of a short command.
    """
    try:
        django.setup()
        if needs_database(arguments):
            _prepare(arguments)
    except (ConfigurationError, ServicesError) as error:
        sys.stderr.write(f"gpu-ledger: {error}\n")
        return CANNOT_RUN
    finally:
        gc.freeze()
        gc.enable()
    try:
        execute_from_command_line(without_checks(arguments))
    except (OperationalError, InterfaceError) as error:
        reason = first_reason(error)
        sys.stderr.write(
            f"gpu-ledger: the database connection was lost: {reason}. {AGAIN}\n"
        )
        return CANNOT_RUN
    return 0


def without_checks(arguments: Sequence[str]) -> list[str]:
    """The command line; a command of ours skips the checks of the code, which import all pages.

    They take more than a second, and find the same each time. `manage.py check` runs them.
    """
    words = list(arguments)
    app = get_commands().get(words[1]) if len(words) > 1 else None
    if app in OURS:
        words.insert(2, "--skip-checks")
    return words


def _prepare(arguments: Sequence[str]) -> None:
    """Prepare the database; a demo from before the first release starts again.

    Raises:
        ServicesError: the command cannot run.
    """
    from portal import database, old_database  # noqa: PLC0415  # models, after setup

    try:
        database.ready(migrate=MIGRATING.isdisjoint(arguments[1:2]))
    except old_database.OldDatabaseError:
        if arguments[1:2] != ["demo"] or not old_database.is_demo():
            raise
        from portal.demo.bootstrap import anew  # noqa: PLC0415  # as above

        anew.begin_anew()


def first_reason(error: BaseException) -> str:
    """The database's first message, in one line; its later ones are only "closed"."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    first = next(each for each in reversed(chain) if isinstance(each, Error))
    return str(first).strip().splitlines()[0]


def needs_database(arguments: Sequence[str]) -> bool:
    """False if the command, or a request for help, works without a database."""
    words = list(arguments[1:])
    if not words or words[0].startswith("-") or {"-h", "--help"} & set(words):
        return False
    if words[0] == "simulate" and any(map(_is_trace, words[1:])):
        return False
    return words[0] not in WITHOUT_DATABASE


def _is_trace(word: str) -> bool:
    """Whether it names a file of a trace to replay, which reads files only."""
    try:
        text = Path(word).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(r"^trace\s*:", text, re.MULTILINE) is not None
