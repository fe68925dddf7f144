"""Addresses: the state of a page that links to this or another page contain."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.http import QueryDict
from django.urls import reverse

from accounting.core.billing_calendar import (
    DAY,
    DEFAULT_PRESET,
    PRESETS,
    DayRange,
    neighbour,
    preset_range,
    unit_of,
)
from accounting.kit.pages.filters import LABELS, MENU, Values

SPAN_KEY = "over"  # the newest hours, on pages that use them by default
RANGE_KEYS = ("range", "from", "to", "words", "first", "last", SPAN_KEY)


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a menu that changes the address."""

    name: str
    label: str
    url: str
    is_current: bool
    key: str = ""
    is_next: bool = False


class Address:
    """The part of a page's state that builds links; `PageState` fills it."""

    path: str
    host: str
    query: QueryDict
    days: DayRange
    preset: str
    comparison: str
    cluster: str
    filters: Values

    @property
    def today(self) -> date:
        """The newest billing day."""
        raise NotImplementedError

    def _pairs(self, *, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        return [
            (key, value)
            for key, values in self.query.lists()
            for value in values
            if key not in without and value
        ]

    def url(self, *, without: tuple[str, ...] = (), **changes: str) -> str:
        """This page with a part of its state changed; an empty value removes it."""
        pairs = self._pairs(without=(*without, *changes))
        pairs += [(key, value) for key, value in changes.items() if value]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def part_url(self, path: str) -> str:
        """A part of this page that has an address of its own, in the same state."""
        pairs = self._pairs(without=("page",))
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def range_url(self, days: DayRange) -> str:
        """This page for exact days."""
        exact = {"from": days.first.isoformat(), "to": days.after.isoformat()}
        return self.url(without=(*RANGE_KEYS, "page"), **exact)

    def with_filter(self, name: str, value: str) -> str:
        """This page with one more value of a filter; "" if the filter has it."""
        if value in self.filters.get(name, ()):
            return ""
        return self.with_values(name, [*self.query.getlist(name), value])

    def without_filter(self, name: str, value: str) -> str:
        """This page without one value of a filter."""
        return self.with_values(
            name, [v for v in self.query.getlist(name) if v != value]
        )

    def with_values(self, name: str, values: list[str]) -> str:
        """This page with other values for one key of its address."""
        pairs = self._pairs(without=(name, "page"))
        pairs += [(name, value) for value in dict.fromkeys(values)]
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    @property
    def no_filters_url(self) -> str:
        """This page without filters."""
        return self.url(without=(*self.filters, "page"))

    @cached_property
    def range_pairs(self) -> list[tuple[str, str]]:
        """The range of the address; empty for the default."""
        if self.preset:
            return [("range", self.preset)] if self.preset != DEFAULT_PRESET else []
        return [
            ("from", self.days.first.isoformat()),
            ("to", self.days.after.isoformat()),
        ]

    @cached_property
    def carried(self) -> list[tuple[str, str]]:
        """The state that links contain: range, comparison, cluster, filters."""
        pairs = list(self.range_pairs)
        if self.comparison != "prev":
            pairs.append(("cmp", self.comparison))
        if self.cluster:
            pairs.append(("cluster", self.cluster))
        return pairs + [
            (name, value)
            for name in LABELS
            for value in dict.fromkeys(self.query.getlist(name))
            if value
        ]

    @cached_property
    def carried_query(self) -> str:
        """`carried` as it is written: the same for every row of a table."""
        return urlencode(self.carried)

    def link(self, url: str, **more: str) -> str:
        """Another page with this page's state; parameters of its own, here or in its address,
        come before."""
        if not more and "?" not in url and "#" not in url:
            return f"{url}?{self.carried_query}" if self.carried_query else url
        parts = urlsplit(url)
        own = [*parse_qsl(parts.query), *more.items()]
        names = {name for name, _ in own}
        pairs = [pair for pair in self.carried if pair[0] not in names]
        query = urlencode([*pairs, *(pair for pair in own if pair[1])])
        return urlunsplit(parts._replace(query=query))

    @property
    def exact(self) -> dict[str, str]:
        """Range and cluster as reports and the API take them."""
        pairs = {"from": self.days.first.isoformat(), "to": self.days.after.isoformat()}
        return pairs | ({"cluster": self.cluster} if self.cluster else {})

    def explain_url(self, what: str, key: Mapping[str, str]) -> str:
        """The explanation of a number of this page: figure, range, filters, and its row."""
        names = tuple(key)
        if names not in self._explained:
            pairs = {**self.exact, **self.filters}
            kept = {name: pairs[name] for name in pairs if name not in key}
            self._explained[names] = f"&{urlencode(kept, doseq=True)}"
        own = f"&{urlencode(key)}" if key else ""
        return f"{self._explain_path}?what={what}{self._explained[names]}{own}"

    @cached_property
    def _explained(self) -> dict[tuple[str, ...], str]:
        """What the numbers of a page have in common, by the names of their own parameters."""
        return {}

    @cached_property
    def _explain_path(self) -> str:
        return reverse("explain")

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The parts of the address that the range form keeps."""
        return self._pairs(without=(*RANGE_KEYS, "page"))

    @property
    def kept_of_filters(self) -> list[tuple[str, str]]:
        """The parts of the address that the filter form keeps."""
        return self._pairs(without=(*MENU, "page"))

    @property
    def exact_url(self) -> str:
        """A link to this exact period."""
        return self.host + self.range_url(self.days)

    @property
    def current_url(self) -> str:
        """A link with a relative range."""
        return self.host + self.url(without=RANGE_KEYS, range=self.preset)

    @property
    def clear_url(self) -> str:
        """This page without any state."""
        return self.path

    @property
    def unit(self) -> str:
        """The calendar unit of a preset; "" if it follows from the days."""
        return next((one.unit for one in PRESETS if one.name == self.preset), "")

    @property
    def back_url(self) -> str:
        """The previous range; "" at the start of the calendar."""
        try:
            days = neighbour(self.days, -1, self.today, self.unit)
        except (ValueError, OverflowError):
            return ""
        return self.range_url(days)

    @property
    def forward_url(self) -> str:
        """The next range, at most up to the newest day; "" if there is none."""
        if self.days.last >= self.today:
            return ""
        days = neighbour(self.days, 1, self.today, self.unit)
        days = DayRange(days.first, min(days.after, self.today + DAY))
        # on the 28th, the last 28 days are the month to date: who steps over months goes on so
        unit = self.unit or unit_of(self.days)
        for preset in sorted(PRESETS, key=lambda one: one.unit != unit):
            if days.last == self.today and days == preset_range(
                preset.name, self.today
            ):
                return self.url(without=(*RANGE_KEYS, "page"), range=preset.name)
        return self.range_url(days)
