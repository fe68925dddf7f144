"""Commands as a person types them: what they say, how they end, what they leave."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command

from tests.integration.accounting.conftest import (
    no_facts_of_others as no_facts_of_others,  # noqa: PLC0414
)


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


def database() -> dict[str, list[tuple[object, ...]]]:
    """Every row of ours, history events too: equal when nothing was written."""
    return {
        model._meta.db_table: list(model._default_manager.order_by("pk").values_list())
        for app in ("accounting", "auth", "pghistory")
        for model in apps.get_app_config(app).get_models()
        if model._meta.managed
    }
