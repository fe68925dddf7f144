"""Credits and adjustments, as they are listed (money.md M25)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import CharField, Exists, F, Func, OuterRef, Value
from django.db.models.query import QuerySet

from accounting.core.billing_calendar import months_later
from accounting.core.charge_lines import PLATFORM
from accounting.kit.reads.paging import ALL_ROWS, Key, Seek, seek_rows
from accounting.months.models.charge import RunningLine
from accounting.months.models.entry import Entry, EntryKind
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.lines import Booking


def entry_rows(
    period: str | None, teams: Sequence[str] = (), seek: Seek = ALL_ROWS
) -> list[Entry]:
    """Entries in the order in which they were added.

    Args:
        period: YYYY-MM, of their billing days; None for all.
        teams: only theirs; none: all.
        seek: the rows of a page; a key is `entry_key` of a row.
    """
    rows = with_state().select_related("team", "author")
    if period is not None:
        rows = rows.filter(**_of_month(date.fromisoformat(f"{period}-01")))
    if teams:
        rows = rows.filter(team__slug__in=teams)
    return list(seek_rows(rows, ("pk",), seek))


def with_state(*, only_waiting: bool = False) -> QuerySet[Entry]:
    """All entries, or those that no line has, with `is_booked`: whether a line has them."""
    lines = RunningLine.objects.filter(  # by the index of revision, team and day
        revision__period=OuterRef("month"),
        revision__reopened_at=None,
        team=OuterRef("team__slug"),
        billing_on=OuterRef("billing_on"),
        kind__in=EntryKind.values,
        reference=OuterRef("number"),
    )
    month = Func(
        F("billing_on"),
        Value("YYYY-MM"),
        function="to_char",
        output_field=CharField(),
    )
    closed = PeriodRevision.objects.filter(
        period=OuterRef("month"), closed_at__isnull=False, reopened_at=None
    )
    found = Entry.objects.annotate(
        month=month, is_booked=Exists(lines) | Exists(closed)
    )
    return found.filter(is_booked=False) if only_waiting else found


def waiting_entries(first: date, last: date | None = None) -> list[Entry]:
    """The entries of a month, by its first day, that no line has yet; or of all up to another."""
    days = {**_of_month(last or first), "billing_on__gte": first}
    found = with_state(only_waiting=True).filter(**days)
    return list(found.select_related("team").order_by("pk"))


def waiting_of_statements(booking: Booking, teams: Collection[str]) -> list[Entry]:
    """Those of the statements of some teams; the platform's has the opposite of each."""
    if booking.is_closed:
        return []
    waiting = waiting_entries(date.fromisoformat(f"{booking.period}-01"))
    return [one for one in waiting if {PLATFORM, one.team.slug} & {*teams}]


def _of_month(first: date) -> dict[str, date]:
    return {"billing_on__gte": first, "billing_on__lt": months_later(first, 1)}


@dataclass(frozen=True, slots=True)
class EntryNote:
    """What a statement says of an entry beside its amount.

    Attributes:
        other: slug of the statement that has the opposite amount, with its name.
    """

    title: str
    reason: str
    other: str
    other_name: str


def entry_notes(numbers: Iterable[str], *, is_platform: bool) -> dict[str, EntryNote]:
    """Notes by number, for the statement of a team or of the platform."""
    found = Entry.objects.filter(number__in=list(numbers)).select_related("team")
    return {one.number: _note(one, is_platform=is_platform) for one in found}


def _note(one: Entry, *, is_platform: bool) -> EntryNote:
    is_extra = one.kind == EntryKind.ADJUSTMENT and one.amount > 0
    kind = "Extra charge" if is_extra else EntryKind(one.kind).label
    of_team = f" of {one.team.name}" if is_platform else ""
    title = f"{kind} {one.number}{of_team}, {one.billing_on:%-d %b %Y}"
    if is_platform:
        return EntryNote(title, one.reason, one.team.slug, one.team.name)
    return EntryNote(title, one.reason, PLATFORM, "the platform")


def entry_key(row: Entry) -> Key:
    """The position of an entry in `entry_rows`."""
    return (row.pk,)
