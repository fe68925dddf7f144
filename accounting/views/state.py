"""The state of a page that lives in its address: range, comparison, cluster, sorting.

`?range=last-7-days` stays current; `?from=2026-10-01&to=2026-11-01` is exact, `to` excluded.
`cmp` is the comparison, `cluster` a filter, `sort` a column with `-` for descending.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest, QueryDict

from accounting.domain.calendar import (
    COMPARISONS,
    DEFAULT_PRESET,
    PRESETS,
    DayRange,
    compared_with,
    neighbour,
    parse_words,
    preset_range,
)
from accounting.domain.period import HOUR_MS, Period, to_ms
from accounting.models import Cluster
from accounting.queries.breakdown import Sides
from accounting.queries.coverage import data_share
from accounting.queries.freshness import freshness
from accounting.queries.selection import Selection
from accounting.views.gate import Visitor, visitor_of

RANGE_KEYS = ("range", "from", "to", "words", "first", "last")
LONGEST_DAYS = 366 * 5


SAME_DAY = timedelta(hours=18)  # younger data show a time, older ones a date


@dataclass(frozen=True, slots=True)
class Chip:
    """What the chip at the top of every page says.

    Attributes:
        until: end of the newest window that was read.
        since: start of the oldest one.
        covered: observed / allocated over the last day of data.
        tone: "" on time, `warn` late, `danger` very late, `mute` when nothing is live.
        reason: why it has that tone, one sentence.
        pending: windows that wait to be read.
        dirty_hours: hours that wait to be rolled up.
    """

    until: datetime | None
    since: datetime | None
    covered: float | None
    tone: str
    reason: str
    is_today: bool
    is_live: bool
    is_demo: bool
    pending: int
    dirty_hours: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a menu that changes the address."""

    name: str
    label: str
    url: str
    is_current: bool
    key: str = ""
    is_next: bool = False


class PageState:
    """What the address of a page says, and the addresses of its neighbours."""

    def __init__(self, request: HttpRequest, *, compares: bool = True) -> None:
        self.visitor: Visitor = visitor_of(request)
        self.path = request.path
        self.query: QueryDict = request.GET
        self.host = f"{request.scheme}://{request.get_host()}"
        self.note = ""
        self.compares = compares
        self.chip: Chip = chip_of(request)
        self.preset = ""
        self.days = self._days()
        chosen = self.query.get("cmp", "prev")
        self.comparison = chosen if chosen in COMPARISONS else "prev"
        self.before = compared_with(self.days, self.comparison)
        self.cluster = self.query.get("cluster", "")
        self.sort = self.query.get("sort", "")

    # --- what the address says -------------------------------------------------------------

    @property
    def zone(self) -> ZoneInfo:
        """The billing zone: it fixes the edges of days."""
        return self.visitor.billing.zone

    @property
    def currency(self) -> str:
        """What bills are in."""
        return self.visitor.billing.currency

    @property
    def today(self) -> date:
        """The billing day that presets count from: today, or the last day with data.

        Where nothing live is configured, data from files may lie long ago.
        """
        moment = self.visitor.now
        if self.chip.until is not None and not self.chip.is_live:
            moment = min(moment, self.chip.until)
        return moment.astimezone(self.zone).date()

    def _days(self) -> DayRange:
        try:
            return self._read_days()
        except ValueError:
            self.note = (
                "The range in the address could not be read, so this is the month to date. "
                "Write from=2026-10-01&to=2026-11-01, or choose a range at the top."
            )
            self.preset = DEFAULT_PRESET
            return preset_range(DEFAULT_PRESET, self.today)

    def _read_days(self) -> DayRange:
        query = self.query
        if words := query.get("words", "").strip():
            return _bounded(parse_words(words, self.today))
        if query.get("first") or query.get("last"):
            pair = f"{query.get('first', '')}..{query.get('last', '')}"
            return _bounded(parse_words(pair, self.today))
        if query.get("from") or query.get("to"):
            first = date.fromisoformat(query.get("from", "")[:10])
            return _bounded(
                DayRange(first, date.fromisoformat(query.get("to", "")[:10]))
            )
        self.preset = query.get("range", DEFAULT_PRESET)
        return preset_range(self.preset, self.today)

    @cached_property
    def period(self) -> Period:
        """The chosen days as UTC milliseconds."""
        return self.days.period(self.zone)

    @cached_property
    def before_period(self) -> Period | None:
        """What to compare with, cut to as much as has elapsed of a running range."""
        if self.before is None:
            return None
        whole = self.before.period(self.zone)
        until = self.chip.until
        if until is None or until >= self.period.end or until <= self.period.start:
            return whole
        elapsed = Period.of(self.period.start, until).length_ms
        length = max(elapsed - elapsed % HOUR_MS, HOUR_MS)
        return Period(whole.start_ms, min(whole.end_ms, whole.start_ms + length))

    @property
    def is_before_cut(self) -> bool:
        """True when the range still runs and the comparison ends at the same hour."""
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
        """The days of the range that charts draw: not those before or after all data."""
        first, last = self.data_days
        if first is None or last is None:
            return []
        return [day for day in self.days.each() if first <= day <= last]

    @cached_property
    def whole_days(self) -> list[date]:
        """The shown days that are over: lines of days would dip at a running one."""
        last = self.data_days[1]
        running = last if self.chip.is_live else None
        return [day for day in self.shown_days if day != running]

    @cached_property
    def elapsed(self) -> Period:
        """The part of the range that data can be there for."""
        since, until = self.chip.since, self.chip.until
        if since is None or until is None:
            return self.period
        start = min(max(self.period.start_ms, to_ms(since)), self.period.end_ms)
        end = max(min(self.period.end_ms, to_ms(until)), start)
        return Period(start, end)

    def sides(self, covered_ms: int) -> Sides | None:
        """What to compare with, and how much of both sides has data.

        `covered_ms` is how much of this range has.
        """
        if self.before_period is None:
            return None
        elapsed = self.elapsed.length_ms
        return Sides(
            self.before_period,
            data_share(self.before_period, self.cluster),
            min(covered_ms / elapsed, 1.0) if elapsed else None,
        )

    def selection(self, **filters: str) -> Selection:
        """The selection of this page, with further filters."""
        kept = {"cluster": self.cluster, **filters}
        return Selection(
            self.visitor.scope,
            self.period,
            {name: (value,) for name, value in kept.items() if value},
        )

    # --- addresses --------------------------------------------------------------------------

    def _pairs(self, *, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        return [
            (key, value)
            for key, values in self.query.lists()
            for value in values
            if key not in without and value
        ]

    def url(self, *, without: tuple[str, ...] = (), **changes: str) -> str:
        """This page with some of its state changed; an empty value removes it."""
        pairs = self._pairs(without=(*without, *changes))
        pairs += [(key, value) for key, value in changes.items() if value]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def range_url(self, days: DayRange) -> str:
        """This page for exact days."""
        exact = {"from": days.first.isoformat(), "to": days.after.isoformat()}
        return self.url(without=(*RANGE_KEYS, "page"), **exact)

    @cached_property
    def carried(self) -> dict[str, str]:
        """The state that follows a link to another page: range, comparison, cluster."""
        pairs = {}
        if self.preset and self.preset != DEFAULT_PRESET:
            pairs["range"] = self.preset
        elif not self.preset:
            pairs = {
                "from": self.days.first.isoformat(),
                "to": self.days.after.isoformat(),
            }
        if self.comparison != "prev":
            pairs["cmp"] = self.comparison
        if self.cluster:
            pairs["cluster"] = self.cluster
        return pairs

    @property
    def carry(self) -> str:
        """`carried` as the end of an address; empty when all is as by default."""
        return f"?{urlencode(self.carried)}" if self.carried else ""

    @property
    def exact(self) -> dict[str, str]:
        """Range and cluster as reports and the API take them."""
        pairs = {"from": self.days.first.isoformat(), "to": self.days.after.isoformat()}
        return pairs | ({"cluster": self.cluster} if self.cluster else {})

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the range form keeps of the address."""
        return self._pairs(without=(*RANGE_KEYS, "page"))

    @property
    def exact_url(self) -> str:
        """A link to this exact period."""
        return self.host + self.range_url(self.days)

    @property
    def current_url(self) -> str:
        """A link that means the same words tomorrow."""
        return self.host + self.url(without=RANGE_KEYS, range=self.preset)

    @property
    def clear_url(self) -> str:
        """This page without any state."""
        return self.path

    @property
    def back_url(self) -> str:
        """The range before."""
        return self.range_url(neighbour(self.days, -1))

    @property
    def forward_url(self) -> str:
        """The range after."""
        return self.range_url(neighbour(self.days, 1))

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
        """What to compare with; one is the next for the keyboard."""
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
        names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
        choices = [Choice("", "All clusters", self.url(cluster=""), not self.cluster)]
        choices += [
            Choice(name, name, self.url(cluster=name), name == self.cluster)
            for name in names
        ]
        return choices if len(names) > 1 else choices[:1]


def _bounded(days: DayRange) -> DayRange:
    if days.days > LONGEST_DAYS:
        raise ValueError(f"longer than {LONGEST_DAYS} days: {days}")
    return days


def chip_of(request: HttpRequest) -> Chip:
    """How fresh the data are, asked once per request."""
    known: Chip | None = getattr(request, "chip", None)
    if known is None:
        known = _chip(visitor_of(request).now)
        request.chip = known  # type: ignore[attr-defined]
    return known


def _chip(now: datetime) -> Chip:
    fresh = freshness()
    tone = "" if fresh.level == "ok" else fresh.level
    if fresh.data_to is None:
        tone, reason = "mute", "No window has been read yet."
    elif not fresh.is_live:
        tone, reason = (
            "mute",
            "These data came from files; no live source is configured.",
        )
    elif fresh.lag is None or not tone:
        reason = "Data arrive on time."
    else:
        minutes = int(fresh.lag.total_seconds() // 60)
        age = (
            f"{minutes // 60} h {minutes % 60} min"
            if minutes >= 60
            else f"{minutes} min"
        )
        reason = f"The newest data are {age} old."
    return Chip(
        until=fresh.data_to,
        since=fresh.since,
        covered=fresh.coverage,
        tone=tone,
        reason=reason,
        is_today=fresh.lag is not None and fresh.lag < SAME_DAY,
        is_live=fresh.is_live,
        is_demo=fresh.is_demo,
        pending=fresh.pending,
        dirty_hours=fresh.dirty_hours,
    )
