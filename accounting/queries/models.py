"""GPU models that are there now, or were in the rolled-up days."""

from dataclasses import dataclass

from django.db import connection


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """One GPU model and how many of it are there now."""

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
            WHERE g.model <> '' GROUP BY 1 ORDER BY 2 DESC, 1
            """
        )
        return [ModelInUse(*row) for row in cursor.fetchall()]
