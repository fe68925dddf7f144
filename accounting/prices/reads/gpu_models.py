"""GPU models that are present now, or were in the rolled-up days."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from accounting.metering.sql.states_sql import held
from accounting.prices.sql.charge_sql import unpriced_sum


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """One GPU model and the number of present GPUs."""

    name: str
    count: int


def models_in_use() -> list[ModelInUse]:
    """Models of present GPUs, the most common first; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT g.model, count(DISTINCT g.id)
            FROM accounting_gpu g
            JOIN accounting_gpupresence p ON p.gpu_id = g.id AND p.end_ms IS NULL
            WHERE g.model <> '' GROUP BY g.model
            ORDER BY count(DISTINCT g.id) DESC, g.model
            """
        )
        return [ModelInUse(*row) for row in cursor.fetchall()]


def first_seen(model: str) -> datetime | None:
    """When the first GPU of a model was present; None if there never was one."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT min(p.start_ms) FROM accounting_gpupresence p
            JOIN accounting_gpu g ON g.id = p.gpu_id WHERE g.model = %s
            """,
            [model],
        )
        (start_ms,) = cursor.fetchone()
    return None if start_ms is None else datetime.fromtimestamp(start_ms / 1000, UTC)


def first_seen_by_model() -> dict[str, datetime]:
    """When the first GPU of each model was present."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT g.model, min(p.start_ms) FROM accounting_gpupresence p
            JOIN accounting_gpu g ON g.id = p.gpu_id WHERE g.model <> ''
            GROUP BY g.model
            """
        )
        return {
            model: datetime.fromtimestamp(start_ms / 1000, UTC)
            for model, start_ms in cursor.fetchall()
        }


def unpriced_before(model: str, since: datetime) -> int:
    """Held GPU-milliseconds of a model without a price in rolled-up hours before a time."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT {unpriced_sum(held("u"))} FROM usage_hour u
            WHERE model = %s AND namespace_id <> 0 AND hour_start < %s
            """,
            [model, since],
        )
        return int(cursor.fetchone()[0])
