"""Runs commands as a person does, and reads what is stored."""

import io
import json
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from accounting.actions import partitions


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
    """Forget all measured data, as if nothing had been imported."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE accounting_cluster, {partitions.TABLES} CASCADE")
