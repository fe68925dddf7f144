"""The state of a page in its address: range, comparison, cluster, sorting.

`?range=last-7-days` is relative; `?from=2026-10-01&to=2026-11-01` is exact, `to` excluded.
Typed (`words`) and picked (`first`, `last`) ranges are redirected to one of the two, so that an
address has one range. `cmp` is the comparison, `cluster` a filter, `sort` a column with `-` for
descending.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from django.http import HttpRequest, QueryDict
from django.utils.encoding import escape_uri_path

from accounting.access.reads.teams import TeamRef
from accounting.core.billing_calendar import (
    COMPARISONS,
    DEFAULT_PRESET,
    PRESETS,
    DayRange,
    compared_with,
    preset_range,
)
from accounting.core.interval import HOUR_MS, Interval, to_ms
from accounting.health.pages import FreshnessBadge, chip_of
from accounting.kit.pages.addresses import RANGE_KEYS, Address, Choice
from accounting.kit.pages.filters import LABELS, FilterChip, read, stored, value_label
from accounting.kit.pages.permissions import PageMoved, Visitor, visitor_of
from accounting.kit.reads.selection import FIRST, LAST, MOST_ROWS, Selection
from accounting.kit.tags import units
from accounting.metering.reads.clusters import clusters_named
from accounting.usage.reads.breakdown import Sides
from accounting.usage.reads.coverage import data_share
from accounting.usage.reads.series import STEPS
from accounting.usage.rules.date_range_parts import RangeError
from accounting.usage.rules.date_ranges import parse_words, preset_named

LONGEST_DAYS = 366 * 5
HOURLY_DAYS, DAILY_DAYS = 7, 92  # up to this length charts have hours, and days


class PageState(Address):
    """The content of a page's address, and addresses of related pages."""

    def __init__(
        self,
        request: HttpRequest,
        *,
        compares: bool = True,
        filters: Collection[str] = (),
        path: str = "",
    ) -> None:
        self.visitor: Visitor = visitor_of(request)
        # a card links to the page it is part of; names in an address may have % or ? in them
        self.path = path or escape_uri_path(request.path)
        self.query: QueryDict = request.GET
        self.host = f"{request.scheme}://{request.get_host()}"
        self.note = ""
        self.typed = ""  # text that is not a valid range, for its input field
        self.compares = compares
        self.chip: FreshnessBadge = chip_of(request)
        self.preset = ""
        self.days = self._days()
        chosen = self.query.get("cmp", "prev")
        self.comparison = chosen if chosen in COMPARISONS else "prev"
        self.before = compared_with(self.days, self.comparison, self.unit)
        self.cluster = self.query.get("cluster", "")
        self.filters = read(self.query, filters)
        self.sort = self.query.get("sort", "")

    # --- what the address says -------------------------------------------------------------

    @property
    def zone(self) -> ZoneInfo:
        """The billing zone, which determines the boundaries of days."""
        return self.visitor.billing.zone

    @property
    def currency(self) -> str:
        """The currency of bills."""
        return self.visitor.billing.currency

    @property
    def today(self) -> date:
        """The billing day from which presets count: today, or the last day with data.

        Without live sources, data from files can be much older.
        """
        moment = self.visitor.now
        if self.chip.until is not None and not self.chip.is_live:
            moment = min(moment, self.chip.until)
        return moment.astimezone(self.zone).date()

    def _days(self) -> DayRange:
        try:
            return self._read_days()
        except RangeError as error:
            self.note = f"{error} This is the month to date."
            self.typed = self.query.get("words", "").strip()
            self.preset = DEFAULT_PRESET
            return preset_range(DEFAULT_PRESET, self.today)

    def _read_days(self) -> DayRange:
        query = self.query
        if words := query.get("words", "").strip():
            days = _bounded(parse_words(words, self.today))
            raise PageMoved(self.chosen_url(days, preset_named(words)))
        if query.get("first") or query.get("last"):
            raise PageMoved(self.chosen_url(_bounded(_picked(query, self.today)), ""))
        if query.get("from") or query.get("to"):
            return _bounded(_exact(query))
        self.preset = query.get("range", DEFAULT_PRESET)
        try:
            return preset_range(self.preset, self.today)
        except ValueError as error:
            raise RangeError(f'"{self.preset}" is not a valid range.') from error

    def chosen_url(self, days: DayRange, preset: str) -> str:
        """This page for typed or picked days; by name if they have one."""
        if preset:
            return self.url(without=(*RANGE_KEYS, "page"), range=preset)
        return self.range_url(days)

    @cached_property
    def period(self) -> Interval:
        """The chosen days as UTC milliseconds."""
        return self.days.period(self.zone)

    @cached_property
    def before_period(self) -> Interval | None:
        """The compared period, limited to the elapsed part of a running range."""
        if self.before is None:
            return None
        whole = self.before.period(self.zone)
        until = self.chip.until
        if until is None or until >= self.period.end or until <= self.period.start:
            return whole
        elapsed = Interval.of(self.period.start, until).length_ms
        length = max(elapsed - elapsed % HOUR_MS, HOUR_MS)
        return Interval(whole.start_ms, min(whole.end_ms, whole.start_ms + length))

    @property
    def is_before_cut(self) -> bool:
        """True if the range is running and the comparison ends at the same hour."""
        if self.before is None or self.before_period is None:
            return False
        return self.before_period != self.before.period(self.zone)

    @cached_property
    def data_days(self) -> tuple[date | None, date | None]:
        """First and last billing day with data."""
        since, until = self.chip.since, self.chip.until
        if since is None or until is None:
            return None, None
        last = until - timedelta(milliseconds=1)
        return since.astimezone(self.zone).date(), last.astimezone(self.zone).date()

    @cached_property
    def shown_days(self) -> list[date]:
        """The days of the range that charts draw: without those before or after all data."""
        first, last = self.data_days
        if first is None or last is None:
            return []
        return [day for day in self.days.each() if first <= day <= last]

    @property
    def step(self) -> str:
        """The length of one bar of a chart: hour, day or month."""
        if self.days.days <= HOURLY_DAYS:
            return "hour"
        return "day" if self.days.days <= DAILY_DAYS else "month"

    @property
    def step_dimension(self) -> str:
        """The dimension of reports that a step is made of."""
        return STEPS[self.step]

    @cached_property
    def elapsed(self) -> Interval:
        """The part of the range that can have data."""
        since, until = self.chip.since, self.chip.until
        if since is None or until is None:
            return self.period
        start = min(max(self.period.start_ms, to_ms(since)), self.period.end_ms)
        end = max(min(self.period.end_ms, to_ms(until)), start)
        return Interval(start, end)

    def sides(self, covered_ms: int) -> Sides | None:
        """The comparison, and how much of both sides has data.

        `covered_ms` is the time with data in this range.
        """
        if self.before_period is None:
            return None
        elapsed = self.elapsed.length_ms
        return Sides(
            self.before_period,
            data_share(self.before_period, self.cluster),
            min(covered_ms / elapsed, 1.0) if elapsed else None,
        )

    @property
    def stored_filters(self) -> dict[str, tuple[str, ...]]:
        """The filters as in reports and the API."""
        return {
            name: tuple(stored(value) for value in values)
            for name, values in self.filters.items()
        }

    @property
    def reported(self) -> dict[str, str | tuple[str, ...]]:
        """Range, cluster and filters as reports and the API take them."""
        return {**self.exact, **self.stored_filters}

    def selection(self, **more: str | tuple[str, ...]) -> Selection:
        """The selection of this page, with further filters that replace its own."""
        kept = dict(self.stored_filters)
        for name, value in {"cluster": self.cluster, **more}.items():
            if value:
                kept[name] = (value,) if isinstance(value, str) else value
        return Selection(self.visitor.scope, self.period, kept, MOST_ROWS)

    def unfiltered(self, **more: str) -> Selection:
        """The selection of this page without the filters of its chips."""
        kept = {"cluster": self.cluster, **more}
        return Selection(
            self.visitor.scope,
            self.period,
            {name: (value,) for name, value in kept.items() if value},
            MOST_ROWS,
        )

    def filter_chips(self, teams: Mapping[str, TeamRef]) -> list[FilterChip]:
        """The active filters, each with the address without it."""
        return [
            FilterChip(
                LABELS[name],
                value_label(name, value, teams),
                self.without_filter(name, value),
            )
            for name, values in self.filters.items()
            for value in values
        ]

    @property
    def label(self) -> str:
        """The text of the range menu."""
        return units.days(self.days)

    # --- menus ------------------------------------------------------------------------------

    @property
    def presets(self) -> Iterator[Choice]:
        """The named ranges."""
        for preset in PRESETS:
            yield Choice(
                preset.name,
                preset.label,
                self.url(without=(*RANGE_KEYS, "page"), range=preset.name),
                preset.name == self.preset,
                preset.key,
            )

    @property
    def comparisons(self) -> Iterator[Choice]:
        """The comparisons; one is the next for the keyboard."""
        names = list(COMPARISONS)
        following = names[(names.index(self.comparison) + 1) % len(names)]
        for name, label in COMPARISONS.items():
            yield Choice(
                name,
                label,
                self.url(cmp=name),
                name == self.comparison,
                is_next=name == following,
            )

    @cached_property
    def clusters(self) -> list[Choice]:
        """All clusters, and each by name."""
        found = clusters_named() if self.visitor.scope.sees_any else []
        names = [one.name for one in found]
        choices = [Choice("", "All clusters", self.url(cluster=""), not self.cluster)]
        choices += [
            Choice(name, name, self.url(cluster=name), name == self.cluster)
            for name in names
        ]
        return choices if len(names) > 1 else choices[:1]


def _picked(query: QueryDict, today: date) -> DayRange:
    """The days of the two date fields; one alone is a single day."""
    first, last = query.get("first", ""), query.get("last", "")
    return parse_words(f"{first or last}..{last or first}", today)


def _exact(query: QueryDict) -> DayRange:
    """`from` and `to` of an address."""
    start, end = query.get("from", ""), query.get("to", "")
    try:
        return DayRange(date.fromisoformat(start[:10]), date.fromisoformat(end[:10]))
    except ValueError as error:
        raise RangeError(
            f'The address has from="{start}" and to="{end}", which is not a range. Write '
            "from=2026-10-01&to=2026-11-01: to is the first day that is not included."
        ) from error


def _bounded(days: DayRange) -> DayRange:
    if days.days > LONGEST_DAYS:
        raise RangeError(
            f"{days.first} to {days.last} is {days.days:,} days; a page shows at most "
            f"{LONGEST_DAYS:,}."
        )
    if days.first < FIRST.date() or days.after > LAST.date():
        raise RangeError(f"{days.first} to {days.last} is not between 1970 and 9998.")
    return days
