"""Names of downloaded files: `gpu-ledger-usage-vision-2026-11-01-to-2026-11-22.csv`."""

import re
from datetime import date, datetime, timedelta

PRODUCT = "gpu-ledger"
MOST = 48  # characters of one part
LONGEST = 180  # of a name without its extension: file systems allow 255 bytes
_ODD = re.compile(r"[^A-Za-z0-9._]+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def file_name(ending: str, *parts: str) -> str:
    """The name of a file from its parts; empty parts are left out.

    Args:
        ending: `csv` or `png`.
        parts: in order: content, owner, period. Characters that file systems do not allow become
            hyphens.
    """
    known = [_ODD.sub("-", part).strip("-.")[:MOST] for part in (PRODUCT, *parts)]
    return f"{'-'.join(part for part in known if part)[:LONGEST]}.{ending}"


def period_part(start: str | None, end: str | None) -> str:
    """A period inside a name: `2026-11-01-to-2026-11-22`, both days included.

    Args:
        start, end: as in REST: dates or ISO 8601 instants, `end` excluded; None leaves that side
            open.
    """
    if start and end and _is_date(start) and _is_date(end):
        last = (date.fromisoformat(end) - timedelta(days=1)).isoformat()
        return start if start == last else f"{start}-to-{last}"
    words = [
        f"from-{_minute(start)}" if start else "",
        f"to-{_minute(end)}" if end else "",
    ]
    return "-".join(word for word in words if word)


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None


def _minute(text: str) -> str:
    """An instant to the minute: `2026-11-21T1000`; a date unchanged."""
    return text if _is_date(text) else f"{datetime.fromisoformat(text):%Y-%m-%dT%H%M}"
