"""Runs commands as a person does, and reads what is stored."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.models import Model
from pghistory.models import Event

from accounting.bills.models import BillLine
from accounting.metering.models.cluster import Cluster, SharePolicy, Source
from accounting.metering.tasks.facts import partitions
from accounting.prices.models.price import UnitPrice
from tests.database_flush import delete_rows


def run(*words: str | Path) -> str:
    """A command's output."""
    out = io.StringIO()
    call_command(*map(str, words), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def report(kind: str, **options: str) -> list[dict[str, Any]]:
    """The rows of a report."""
    words = [f"--{name}={value}" for name, value in options.items()]
    rows: list[dict[str, Any]] = json.loads(
        run("report", kind, "--format=json", *words)
    )["rows"]
    return rows


def count_written() -> None:
    """Let the database count what this connection has written: it does so once a second."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def facts() -> list[tuple[Any, ...]]:
    """Every stored fact by names, not by ids: equal data give equal lists."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT w.window_start, g.uuid, w.instance, coalesce(p.uid, ''), n.name,
                   busy_ms, idle_ms, unknown_ms, free_ms, stranded_ms, stray_ms, dark_ms,
                   flags, metric, samples_expected, samples_used, over_share_ms
            FROM usage_window w
            JOIN accounting_gpu g ON g.id = w.gpu_id
            JOIN accounting_node n ON n.id = w.node_id
            LEFT JOIN accounting_pod p ON p.id = w.pod_id
            ORDER BY 1, 2, 3, 4
            """
        )
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def clear() -> None:
    """Forget all measured data, as if nothing had been imported; prices and clusters, too.

    What people can change is deleted as the product deletes it, with its history: else
    `verify` finds that it is gone (I17).
    """
    ours = apps.get_app_config("accounting").get_models()
    measured = [
        model._meta.db_table
        for model in ours
        if model not in (*_CHANGED, BillLine)
        and not issubclass(model, Event)
        and _is_measured(model)
    ]
    delete_rows([*_referring_to(tuple(measured)), *partitions.TABLES.split(", ")])
    for model in _CHANGED:
        model._base_manager.all()._raw_delete("default")


@cache
def _referring_to(tables: tuple[str, ...]) -> list[str]:
    """These tables, and those whose rows need rows of them, directly or not."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE found (oid) AS (
                SELECT unnest(%s::regclass[])::oid
                UNION
                SELECT conrelid FROM pg_constraint JOIN found ON confrelid = found.oid
                WHERE contype = 'f'
            )
            SELECT oid::regclass::text FROM found ORDER BY 1
            """,
            [list(tables)],
        )
        return [name for (name,) in cursor.fetchall()]


# A bill is no measurement: a trigger keeps it.
_CHANGED = (Source, SharePolicy, UnitPrice, Cluster)  # in the order of their keys


def _is_measured(model: type[Model]) -> bool:
    fields = model._meta.get_fields()
    return any(field.related_model in (Cluster, Source) for field in fields)
