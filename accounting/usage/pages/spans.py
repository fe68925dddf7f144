"""Pages of five-minute facts: the newest hours, or a selected range.

`?over=hour` selects the newest hour. An address with a range of days has that range. The shown
period can be shorter than the selected days: facts are limited by retention, and by the amount
that is read at once.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from django.conf import settings
from django.http import HttpRequest

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import DAY_MS, HOUR_MS, Interval, to_ms
from accounting.kit.pages.addresses import RANGE_KEYS, SPAN_KEY, Choice
from accounting.kit.reads.selection import stored_period
from accounting.kit.tags import units
from accounting.usage.pages.page_state import PageState


@dataclass(frozen=True, slots=True)
class RecentSpan:
    """A period that ends with the newest window."""

    name: str
    label: str
    length_ms: int

    @property
    def text(self) -> str:
        """`last 24 hours`, in a sentence."""
        return self.label[:1].lower() + self.label[1:]


HOUR = RecentSpan("hour", "Last hour", HOUR_MS)
DAY = RecentSpan("day", "Last 24 hours", DAY_MS)
THREE_DAYS = RecentSpan("3-days", "Last 3 days", 3 * DAY_MS)


class SpanState(PageState):
    """The state of a page whose default is the newest hours.

    Attributes:
        span: the newest hours; None if a range of days was selected.
    """

    def __init__(
        self,
        request: HttpRequest,
        offered: tuple[RecentSpan, ...],
        *,
        longest_ms: int,
        filters: tuple[str, ...] = (),
        path: str = "",
    ) -> None:
        """Read an address.

        Args:
            offered: the spans of the page; the last is its default.
            longest_ms: the maximum length that it shows.
            filters: supported by the page.
            path: as for `PageState`.
        """
        self.offered, self.longest_ms = offered, longest_ms
        self.span: RecentSpan | None = None
        super().__init__(request, compares=False, filters=filters, path=path)

    def _read_days(self) -> DayRange:
        until = self.chip.until
        has_range = any(self.query.get(name) for name in RANGE_KEYS if name != SPAN_KEY)
        if has_range or until is None:
            return super()._read_days()
        usual, name = self.offered[-1], self.query.get(SPAN_KEY, "")
        self.span = next((one for one in self.offered if one.name == name), usual)
        start = until - timedelta(milliseconds=self.span.length_ms)
        last = (until - timedelta(milliseconds=1)).astimezone(self.zone).date()
        return DayRange(start.astimezone(self.zone).date(), last + timedelta(days=1))

    @cached_property
    def range_pairs(self) -> list[tuple[str, str]]:
        """The range of the address; empty for the newest hours."""
        return [] if self.span else super().range_pairs

    @property
    def spans(self) -> list[Choice]:
        """The newest hours as choices of the range menu; none before there is data."""
        if self.chip.until is None:
            return []
        usual = self.offered[-1]
        return [
            Choice(
                one.name,
                one.label,
                self.url(
                    without=(*RANGE_KEYS, "page", "nodes"),
                    **({} if one == usual else {SPAN_KEY: one.name}),
                ),
                one == self.span,
            )
            for one in self.offered
        ]

    @cached_property
    def shown(self) -> Interval:
        """The shown period; empty if no facts of the range are stored."""
        until = self.chip.until
        if self.span is None or until is None:
            return newest_facts(self.period, self.longest_ms)
        end, length = to_ms(until), self.span.length_ms
        return newest_facts(Interval(end - length, end), length)

    @property
    def is_newest(self) -> bool:
        """True if it ends with the newest data, so it includes the current state."""
        until = self.chip.until
        return until is not None and self.shown.end_ms >= to_ms(until)

    @property
    def is_cut(self) -> bool:
        """True if less is shown than the selected days."""
        return self.span is None and self.shown.start_ms > self.elapsed.start_ms

    @property
    def kept_days(self) -> int:
        """The number of days for which five-minute facts are stored."""
        days: int = settings.FACT_DAYS
        return days

    @property
    def usual(self) -> Choice:
        """The default span of the page."""
        return self.spans[-1]

    @property
    def starts_late(self) -> bool:
        """True if the shown period starts where the stored facts start."""
        stored = stored_period()
        return (
            self.is_cut
            and stored is not None
            and self.shown.start_ms == stored.start_ms
        )

    @property
    def form_pairs(self) -> list[tuple[str, str]]:
        """The range as hidden fields of a form of the page."""
        if self.span is None:
            return super().range_pairs
        return [] if self.span == self.offered[-1] else [(SPAN_KEY, self.span.name)]

    @property
    def kept_since(self) -> date | None:
        """The first day of the stored five-minute facts."""
        stored = stored_period()
        return stored.start.astimezone(self.zone).date() if stored else None

    @property
    def label(self) -> str:
        """The text of the range menu: exactly the shown period."""
        if self.span is not None:
            return self.span.label
        if not self.is_cut or not self.shown.length_ms:
            return units.days(self.days)
        first = self.shown.start.astimezone(self.zone).date()
        return units.days(DayRange(first, self.days.after))

    @property
    def current_url(self) -> str:
        """A link with a relative range."""
        if self.span is None:
            return super().current_url
        name = "" if self.span == self.offered[-1] else self.span.name
        return self.host + self.url(without=RANGE_KEYS, **{SPAN_KEY: name})


def newest_facts(period: Interval, longest_ms: int) -> Interval:
    """The newest part of a period with five-minute facts; empty without facts."""
    stored = stored_period()
    both = period.intersection(stored) if stored else None
    if both is None:
        return Interval(period.end_ms, period.end_ms)
    return Interval(max(both.start_ms, both.end_ms - longest_ms), both.end_ms)
