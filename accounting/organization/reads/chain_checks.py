"""Checks of the audit log: its chain, its history, and the current rows (I17)."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from pghistory.models import Event

from accounting.kit.reads.invariant import Check


def audit_checks() -> list[Check]:
    """The invariants of the audit log."""
    return [
        Check(
            "the audit chain is intact (I17)",
            "the hash of each audit entry covers the entry and the hash before it",
            """
            SELECT 'link ' || id, encode(hash, 'hex'), encode(wanted, 'hex')
            FROM (SELECT id, hash, sha256(
                    coalesce(lag(hash) OVER (ORDER BY id), '')
                    || convert_to(body::text, 'UTF8')) AS wanted
                  FROM accounting_auditlink) AS chain
            WHERE hash <> wanted
            """,
        ),
        Check(
            "audit columns match the sealed entries (I17)",
            "the time, table, event and object of each audit entry match its sealed content",
            """
            SELECT 'link ' || id, filed::text, sealed::text
            FROM (SELECT id,
                    jsonb_build_array(source, event_id, object_id, at) AS filed,
                    jsonb_build_array(
                        body ->> 'source', (body ->> 'event')::bigint,
                        (body ->> 'object')::bigint,
                        (body ->> 'at')::timestamptz) AS sealed
                  FROM accounting_auditlink) AS links
            WHERE filed <> sealed
            """,
        ),
        Check(
            "history matches the sealed entries (I17)",
            "each row of history is sealed in the audit log as it was written",
            *_few_at_once([_sealed(table) for table in history_tables()]),
        ),
        Check(
            "current rows match the sealed entries (I17)",
            "each row that people can change equals its newest sealed change",
            *_few_at_once([_in_force(model) for model in _histories()]),
        ),
    ]


AT_ONCE = 3
"""Tables in one statement. All of them in one have 666 lines, and are planned for 18 ms."""


def _few_at_once(texts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The first query of a check, and more of them."""
    parts = (texts[n : n + AT_ONCE] for n in range(0, len(texts), AT_ONCE))
    first, *more = (" UNION ALL ".join(part) for part in parts)
    return first, tuple(more)


def history_tables() -> list[str]:
    """Every history table."""
    return [
        model._meta.db_table  # noqa: SLF001  # Django's own name for it
        for model in _histories()
    ]


def _histories() -> list[type[Event]]:
    """Every history model, by the name of its table."""
    found = [model for model in apps.get_models() if issubclass(model, Event)]
    return sorted(
        found,
        key=lambda model: model._meta.db_table,  # noqa: SLF001  # Django's own name for it
    )


def _sealed(table: str) -> str:
    """Rows of a table that differ from their sealed version, and links whose row is missing.

    Only columns that both have are compared: a migration may add or remove some.
    """
    return f"""
        SELECT '{table} ' || coalesce(e.pgh_id, l.event_id),
               coalesce(to_jsonb(e)::text, 'gone'), coalesce(l.body::text, 'not sealed')
        FROM {table} e
        FULL JOIN (SELECT * FROM accounting_auditlink WHERE source = '{table}') l
            ON l.event_id = e.pgh_id
        WHERE e.pgh_id IS NULL OR l.id IS NULL
           OR l.body -> 'label' <> to_jsonb(e.pgh_label)
           OR {_differs("to_jsonb(e)", "l.body -> 'row'")}
    """


def _in_force(history: type[Event]) -> str:
    """Rows that differ from their newest sealed change, and rows without one.

    A row that is missing must have been deleted by its newest change, and an existing row must
    not. Only columns that both have are compared.
    """
    table = history._meta.db_table  # noqa: SLF001  # Django's own name for it
    tracked: Any = history.pgh_tracked_model
    now, key = tracked._meta.db_table, tracked._meta.pk.column  # noqa: SLF001  # Django's documented API
    return f"""
        SELECT '{now} ' || coalesce(t.{key}, l.object_id),
               coalesce(to_jsonb(t)::text, 'gone'),
               CASE WHEN l.label IS NULL THEN 'not sealed'
                    WHEN l.label = 'delete' THEN 'deleted' ELSE l.row::text END
        FROM {now} t
        FULL JOIN (
            SELECT DISTINCT ON (object_id) object_id, body ->> 'label' AS label,
                   body -> 'row' AS row
            FROM accounting_auditlink WHERE source = '{table}'
            ORDER BY object_id, id DESC
        ) l ON l.object_id = t.{key}
        WHERE l.object_id IS NULL
           OR (t.{key} IS NULL) <> (l.label = 'delete')
           OR (t.{key} IS NOT NULL AND {_differs("to_jsonb(t)", "l.row")})
    """


def _differs(now: str, sealed: str) -> str:
    """True if a column of two rows (JSON objects) has different values."""
    return f"""EXISTS (
        SELECT FROM jsonb_each({now}) AS now
        JOIN jsonb_each({sealed}) AS sealed USING (key)
        WHERE now.value IS DISTINCT FROM sealed.value)"""
