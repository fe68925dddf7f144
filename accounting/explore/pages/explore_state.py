"""The address of Explore: groupings, measure, filters that add and exclude, and closes.

`?by=team&then=week&show=idle_cost&namespace=a&not_tier=low&close=2026-10-r1`: filters have the
names of REST, and `close` fixes what is shown for good.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.text import capfirst

from accounting.access.reads.teams import TeamRef, visible_teams
from accounting.core.billing_calendar import DayRange
from accounting.explore.reads.groupings import (
    FILTERED,
    TIMES,
    groupings_of,
    unanswered,
)
from accounting.explore.rules import MEASURES, ExploreMeasure
from accounting.kit.pages.addresses import RANGE_KEYS
from accounting.kit.pages.filters import (
    FilterChip,
    Values,
    stored,
    value_label,
)
from accounting.kit.pages.permissions import PageMoved
from accounting.kit.reads.dimensions import BY_NAME, Dimension
from accounting.kit.reads.selection import Amounts, Selection, SelectionError
from accounting.kit.tags.pages import lower_first
from accounting.usage.pages.page_state import PageState
from accounting.usage.pages.steps import FREQUENCY
from accounting.usage.reads.booked import have_days
from accounting.usage.reads.closed_months import ClosedMonth, closed_months

MOST_VALUES = 50  # of all filters: an address has a limit
LONGEST_VALUE = 253


@dataclass(frozen=True, slots=True)
class Closes:
    """The closed months of a range.

    Attributes:
        inside: those in effect with a day in it.
        is_all: they have every day of it.
    """

    inside: tuple[ClosedMonth, ...]
    is_all: bool


class ExploreState(PageState):
    """What an address of Explore says."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.filters: Values = self._values("")
        self.excludes = self._values("not_")
        clusters = self.filters.get("cluster", ())
        self.cluster = clusters[0] if len(clusters) == 1 else ""
        if self.query.get("dimension"):
            raise PageMoved(self._with_typed_filter())

    def _values(self, prefix: str) -> dict[str, tuple[str, ...]]:
        found = {}
        for name in FILTERED:
            values = self.query.getlist(prefix + name)[:MOST_VALUES]
            kept = tuple(dict.fromkeys(v for v in values if _is_text(v)))
            if known := BY_NAME[name].values:
                kept = tuple(value for value in kept if value in known)
            if kept:
                found[name] = kept
        return found

    def _with_typed_filter(self) -> str:
        """This page with the values that the form has added."""
        name = self.query.get("dimension", "")
        prefix = "not_" if self.query.get("how") == "not" else ""
        typed = [one.strip() for one in self.query.get("value", "").split(",")]
        typed = [self._slug(one) if name == "team" else one for one in typed]
        pairs = self._pairs(without=("dimension", "how", "value", "page"))
        if name in FILTERED:
            pairs += [(prefix + name, one) for one in typed if _is_text(one)]
        pairs = list(dict.fromkeys(pairs))
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path

    def _slug(self, typed: str) -> str:
        """A team by its slug or its name."""
        for slug, team in self.teams.items():
            if typed.lower() in (slug, team.name.lower()):
                return slug
        return typed.lower()

    # --- what is shown ---------------------------------------------------------------------

    @cached_property
    def teams(self) -> Mapping[str, TeamRef]:
        """Those whom the person may see, by slug."""
        return visible_teams(self.visitor.scope)

    @cached_property
    def measure(self) -> ExploreMeasure:
        """The figure that is drawn, sorted by and compared."""
        return MEASURES.get(self.query.get("show", ""), MEASURES["cost"])

    @cached_property
    def groupings(self) -> tuple[Dimension, ...]:
        """One or two."""
        query = self.query
        return groupings_of(query.get("by", ""), query.get("then", ""), self.days)

    @property
    def by(self) -> tuple[str, ...]:
        """Their names, as `by` of REST."""
        return tuple(one.name for one in self.groupings)

    @property
    def listed(self) -> tuple[Dimension, ...]:
        """The groupings of the table: with time as the second one, which is drawn, the first."""
        if len(self.groupings) > 1 and self.groupings[1].name in TIMES:
            return self.groupings[:1]
        return self.groupings

    @property
    def rows_by(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.name for one in self.listed)

    @property
    def time(self) -> str:
        """The grouping through time; "" without one."""
        return next((name for name in self.by if name in TIMES), "")

    @property
    def chart_title(self) -> str:
        """The chart in words: `Weekly idle cost by team`, `Idle cost by team and tier`."""
        label = self.measure.label
        words = lower_first(label) if label != "No data" else "time without data"
        others = [
            lower_first(one.label) for one in self.groupings if one.name != self.time
        ]
        title = " by ".join([words, " and ".join(others)] if others else [words])
        return f"{FREQUENCY[self.time]} {title}" if self.time else capfirst(title)

    @property
    def rows_words(self) -> str:
        """The table in words: `By team and week`."""
        return "By " + " and ".join(lower_first(one.label) for one in self.listed)

    @property
    def is_measured(self) -> bool:
        """Whether closed days have the data known now, and not what was booked."""
        return self.query.get("as") == Amounts.MEASURED

    @property
    def stored_excludes(self) -> dict[str, tuple[str, ...]]:
        """What is excluded, as in reports and the API."""
        return {
            name: tuple(map(stored, values)) for name, values in self.excludes.items()
        }

    def closes_of(self, days: DayRange) -> Closes:
        """The closes that say what these days came to."""
        inside = tuple(
            one
            for one in closed_months()
            if one.first < days.after and days.first < one.after
        )
        return Closes(inside, have_days(inside, days.first, days.after))

    @cached_property
    def closes(self) -> Closes:
        """Those in effect, of the range."""
        return self.closes_of(self.days)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The closes in the address: what it shows is fixed."""
        return tuple(dict.fromkeys(self.query.getlist("close")))

    @cached_property
    def pinned(self) -> tuple[str, ...]:
        """The closes that the range is read from; none if it is not closed, or measured."""
        return () if self.is_measured else self._pins(self.days)

    def _pins(self, days: DayRange) -> tuple[str, ...]:
        months = [
            name
            for name in self.named
            if f"{days.first:%Y-%m}" <= name[:7] <= f"{days.last:%Y-%m}"
        ]
        if months:
            return tuple(months)
        found = self.closes_of(days)
        return tuple(one.name for one in found.inside) if found.is_all else ()

    @property
    def is_before_closed(self) -> bool:
        """Whether the compared days are read from closes, too."""
        return self.before is not None and bool(self._pins(self.before))

    def selection_of(self, days: DayRange | None = None) -> Selection:
        """What is read: of the range, or of the days before it.

        Raises:
            SelectionError: what its closed months do not have.
        """
        whole = days or self.days
        kept = replace(
            self.selection(),
            filters=self.stored_filters,
            excludes=self.stored_excludes,
            amounts=Amounts.MEASURED if self.is_measured else Amounts.BOOKED,
        )
        if days is not None and self.before_period is not None:
            kept = replace(kept, period=self.before_period)
        if self.is_measured:
            return kept
        names = (*self.by, *self.filters, *self.excludes)
        missing = unanswered([BY_NAME[name] for name in names])
        is_cut = days is not None and self.is_before_cut
        pins = () if is_cut else self._pins(whole)
        if missing and (pins or self.closes_of(whole).inside):
            raise SelectionError(
                f"a closed month is stored by team, family, namespace, GPU model, tier and day, "
                f"not by {missing}"
            )
        return replace(kept, revisions=pins)

    # --- addresses ---------------------------------------------------------------------------

    @property
    def reported(self) -> dict[str, str | tuple[str, ...]]:
        """Range, filters and closes as the API takes them."""
        found: dict[str, str | tuple[str, ...]] = dict(super().reported)
        found |= {f"not_{name}": some for name, some in self.stored_excludes.items()}
        if self.is_measured:
            found["as"] = Amounts.MEASURED
        elif self.pinned:
            found["close"] = self.pinned
        return found

    def url(self, *, without: tuple[str, ...] = (), **changes: str) -> str:
        """This page with a part of its state changed; another range has no named closes."""
        if {"range", "from"} & {*without, *changes}:
            without = (*without, "close")
        return super().url(without=without, **changes)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The parts of the address that the range form keeps."""
        return [pair for pair in super().kept if pair[0] != "close"]

    @property
    def exact_url(self) -> str:
        """A link to exactly what is shown: of closed months, for good."""
        pins = self.pinned
        if pins and self.before is not None:
            pins = (*self._pins(self.before), *pins)
        pairs = self._pairs(without=(*RANGE_KEYS, "page", "close"))
        pairs += [
            ("from", self.days.first.isoformat()),
            ("to", self.days.after.isoformat()),
        ]
        pairs += [("close", one) for one in dict.fromkeys(pins)]
        return f"{self.host}{self.path}?{urlencode(pairs)}"

    @property
    def no_filters_url(self) -> str:
        """This page without filters."""
        names = (*self.filters, *(f"not_{name}" for name in self.excludes))
        return self.url(without=(*names, "page"))

    @property
    def measured_url(self) -> str:
        """The same with the data known now."""
        return self.url(without=("close", "page"), **{"as": Amounts.MEASURED})

    @property
    def booked_url(self) -> str:
        """The same as the closes in effect booked it."""
        return self.url(without=("close", "as", "page"))

    @property
    def kept_of_groupings(self) -> list[tuple[str, str]]:
        """The parts of the address that the form of groupings keeps."""
        return self._pairs(without=("by", "then", "show", "page", "sort"))

    @property
    def kept_of_form(self) -> list[tuple[str, str]]:
        """The parts of the address that the form of filters keeps."""
        return self._pairs(without=("dimension", "how", "value", "page"))

    def adding(self, pairs: Mapping[str, str], *, excluded: bool = False) -> str:
        """This page with more filters; "" if it has all of them."""
        prefix = "not_" if excluded else ""
        found = self._pairs(without=("page",))
        new = [(prefix + name, value) for name, value in pairs.items()]
        if all(pair in found for pair in new):
            return ""
        return f"{self.path}?{urlencode(list(dict.fromkeys([*found, *new])))}"

    def filter_chips(self, teams: Mapping[str, TeamRef]) -> list[FilterChip]:
        """The filters, each with the address without it."""
        return [
            FilterChip(
                BY_NAME[name].label,
                value_label(name, value, teams),
                self.without_filter(prefix + name, value),
                verb,
            )
            for prefix, verb, values_of in (
                ("", "is", self.filters),
                ("not_", "is not", self.excludes),
            )
            for name, values in values_of.items()
            for value in values
        ]


def _is_text(value: str) -> bool:
    return bool(value) and len(value) <= LONGEST_VALUE and "\0" not in value
