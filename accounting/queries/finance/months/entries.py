"""Credits and adjustments, as they are listed (money.md M25)."""

from collections.abc import Sequence
from datetime import date

from accounting.domain.core.billing_calendar import months_later
from accounting.models import Entry
from accounting.queries.paging import ALL_ROWS, Key, Seek, seek_rows


def entry_rows(
    period: str | None, teams: Sequence[str] = (), seek: Seek = ALL_ROWS
) -> list[Entry]:
    """Entries in the order in which they were added.

    Args:
        period: YYYY-MM, of their billing days; None for all.
        teams: only theirs; none: all.
        seek: the rows of a page; a key is `entry_key` of a row.
    """
    rows = Entry.objects.select_related("team", "author")
    if period is not None:
        first = date.fromisoformat(f"{period}-01")
        rows = rows.filter(billing_on__gte=first, billing_on__lt=months_later(first, 1))
    if teams:
        rows = rows.filter(team__slug__in=teams)
    return list(seek_rows(rows, ("pk",), seek))


def entry_key(row: Entry) -> Key:
    """The position of an entry in `entry_rows`."""
    return (row.pk,)
