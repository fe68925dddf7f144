"""Tables that a setup file replaces: rows that already match are not touched."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import models


def ends_of(keyed: Sequence[tuple[Any, datetime]]) -> list[datetime | None]:
    """The end of each row: the next start with the same key."""
    starts: dict[Any, list[datetime]] = defaultdict(list)
    for key, start in keyed:
        starts[key].append(start)
    return [
        min((later for later in starts[key] if later > start), default=None)
        for key, start in keyed
    ]


def replace_rows(model: type[models.Model], rows: list[dict[str, Any]]) -> bool:
    """Make a table contain exactly these rows, writing only those that differ."""
    names = list(rows[0]) if rows else ["id"]
    manager = model._default_manager  # noqa: SLF001  # Django's own name for it
    known = {tuple(getattr(row, name) for name in names): row for row in manager.all()}
    wanted = [tuple(row[name] for name in names) for row in rows]
    gone = [row for key, row in known.items() if key not in wanted]
    new = [key for key in wanted if key not in known]
    for row in gone:
        row.delete()
    for key in new:
        manager.create(**dict(zip(names, key, strict=True)))
    return bool(gone or new)
