"""Commands as a person types them: what they say, how they end, what they leave."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from tests.integration.metering.conftest import no_facts_of_others as no_facts_of_others  # noqa: PLC0414


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Configure = Callable[..., Ended]


@pytest.fixture
def configure(db: None, tmp_path: Path) -> Configure:
    """`manage.py configure` with a file of this content."""
    del db

    def _configure(content: str | bytes, *options: str, name: str = "s.yaml") -> Ended:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return run("configure", str(path), *options)

    return _configure


def run(*words: str) -> Ended:
    """Any command."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(*words, stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())


def database() -> dict[str, list[str]]:
    """Every row of ours as text, history events too: equal when nothing was written."""
    there = connection.introspection.table_names()
    tables = [
        model._meta.db_table
        for app in ("accounting", "auth", "pghistory")
        for model in apps.get_app_config(app).get_models()
        if model._meta.db_table in there
    ]
    rows = " UNION ALL ".join(
        f"SELECT '{table}', t::text FROM {table} t"  # noqa: S608  # our own tables
        for table in tables
    )
    found: dict[str, list[str]] = {table: [] for table in tables}
    with connection.cursor() as cursor:
        cursor.execute(f"{rows} ORDER BY 1, 2")
        for table, row in cursor:
            found[table].append(row)
    return found
