"""`python -m tests.answers`: writes all answers of this version, or compares two such files.

    python -m tests.answers dump --home HOME --now 2026-11-28T06:40Z -o before.jsonl
    (the other version) ... dump --home HOME --now ... --as before.jsonl -o after.jsonl
    python -m tests.answers compare before.jsonl after.jsonl

The database of a home is copied, and the copy is migrated and booked by the version that runs:
the home stays as it is. `--story` is the database of the tests of pages, with a closed month.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

LINKS = "/"  # where a person starts who follows links


def main() -> int:
    """Dump or compare; exits with 1 if something differs."""
    parser = argparse.ArgumentParser(prog="tests.answers", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    dump = verbs.add_parser("dump", help="ask everything, and write the answers")
    dump.add_argument("--home", type=Path, help="of a stopped demo")
    dump.add_argument("--story", action="store_true", help="the database of the tests")
    dump.add_argument("--now", type=datetime.fromisoformat, help="with a time zone")
    dump.add_argument(
        "--as", dest="earlier", type=Path, help="ask what this dump asked"
    )
    dump.add_argument("-o", "--output", type=Path, required=True)
    compare = verbs.add_parser("compare", help="list the addresses that differ")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--figures", action="store_true", help="only the numbers")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    if options.verb == "dump":
        _dump(options)
        return 0
    return _compare(options)


def _dump(options: argparse.Namespace) -> None:
    opened = _home(options.home) if options.home else _story()
    with opened as (template, now):
        from tests.answers.frozen import frozen_copy

        name = f"{template}_answers_{os.getpid()}"
        with frozen_copy(template, name, options.now or now):
            _ask(options.output, options.earlier, options.now or now)


def _ask(output: Path, earlier: Path | None, now: datetime) -> None:
    from django.conf import settings

    from tests.answers.addresses import names_in_database, questions
    from tests.answers.asking import COMMAND, Dump, Recorder
    from tests.answers.differences import read
    from tests.integration.access.crawler import Crawler

    logging.disable(logging.ERROR)  # of answers that are rejected; the dump has them
    settings.ALLOWED_HOSTS = ["testserver"]
    began = time.perf_counter()
    with output.open("w", encoding="utf-8") as out:
        dump = Dump(out)
        if earlier:
            dump.ask(read(earlier))
        else:
            names = names_in_database()
            people = {who: Recorder(who, dump.tell) for who in names.people}
            for n, client in enumerate(people.values()):
                Crawler(client, is_brief=n > 0).follow([LINKS])
            rest = [*questions(names, now)]
            dump.ask(
                one
                for one in rest
                if one[0] == COMMAND or one[1] not in people[one[0]].asked
            )
    sys.stdout.write(f"{dump.count:,} answers, {time.perf_counter() - began:.0f} s\n")


@contextmanager
def _home(home: Path) -> Iterator[tuple[str, datetime]]:
    """The database of a stopped demo, and when its last window was read."""
    from portal.embedded import lease

    places = lease.acquire(home)
    os.environ |= {"DATABASE_URL": places.database_url, "REDIS_URL": places.redis_url}
    import django

    django.setup()
    from django.db import connection

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(read_at) FROM accounting_ingestwindow")
            now = cursor.fetchone()[0]
        yield connection.settings_dict["NAME"], now
    finally:
        connection.close()
        lease.release(places.home)


@contextmanager
def _story() -> Iterator[tuple[str, datetime]]:
    """The story, with October closed by the version that runs."""
    from portal.embedded import lease
    from tests import services

    home = Path(tempfile.mkdtemp(prefix="gpu-ledger-answers-"))
    places = services.started(home)
    os.environ |= {"DATABASE_URL": places.database_url, "REDIS_URL": places.redis_url}
    import django

    django.setup()
    from django.db import connection

    from accounting.months.tasks.close import close_period
    from tests.integration.conftest import NOW
    from tests.story import cast, tell

    try:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        story = tell(NOW)
        cast(story)
        close_period("2026-10", now=datetime.fromisoformat("2026-11-05T00:00Z"))
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        yield connection.settings_dict["NAME"], NOW
    finally:
        connection.close()
        lease.release(home)


def _compare(options: argparse.Namespace) -> int:
    import django

    django.setup()
    from tests.answers.differences import differences, read

    before, after = read(options.before), read(options.after)
    found = [*differences(before, after, only_figures=options.figures)]
    for one in found:
        sys.stdout.writelines(f"{line}\n" for line in one.lines())
    _sum_up(len(before), [one.who for one in found], len(after.keys() - before.keys()))
    return 1 if found else 0


def _sum_up(asked: int, whose: Sequence[str], new: int) -> None:
    sys.stdout.write(f"{len(whose):,} of {asked:,} answers differ; {new:,} are new\n")


sys.exit(main())
