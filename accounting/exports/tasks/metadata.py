"""The file beside a file: its checksum, what its rows come to, and what they are (money.md M45)."""

import json
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from accounting.exports.rules.focus.metadata import definition_of, schema_of
from accounting.exports.tasks.request import Export, instant


def metadata_name(name: str) -> str:
    """`<name>.metadata.json`."""
    return f"{name}.metadata.json"


def metadata_of(
    export: Export, *, name: str, size: int, sha256: str, written_at: datetime
) -> dict[str, Any]:
    """What the metadata file of a written file says. Money is text, exact.

    Args:
        export: what was written.
        name: of the file.
        size: bytes.
        sha256: hex digest of the bytes.
        written_at: when the file was complete.
    """
    booking = export.booking
    found: dict[str, Any] = {
        "file": name,
        "rows": export.row_count,
        "bytes": size,
        "sha256": sha256,
        "content": str(export.request.what),
        "team": export.request.team,
        "period": booking.period,
        "revision": booking.revision,
        "state": "closed" if booking.is_closed else "running",
        "period_start": instant(booking.starts_at),
        "period_end": instant(booking.ends_at),
        "time_zone": booking.timezone,
        "booked_at": instant(booking.booked_at),
        "currency": booking.currency,
        "sum": f"{export.charge:f}",
        "payable": f"{export.payable:.{booking.minor_places}f}",
        "method": booking.method,
        "close_hash": booking.hash or None,
        "previous_hash": booking.previous_hash,
        "without_money_ms": export.without_money_ms,
        "written_at": instant(written_at.astimezone(UTC).replace(microsecond=0)),
    }
    profile = export.table.profile
    if profile is not None:
        found["focus"] = schema_of(profile, settings.VERSION, written_at)
    else:
        found["columns"] = [definition_of(column) for column in export.table.columns]
    return found


def metadata_text(found: dict[str, Any]) -> str:
    """As the file has it."""
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
