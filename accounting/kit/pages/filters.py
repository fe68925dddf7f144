"""Filters of a page: stored in its address, shown as chips, selected in a menu or by a name.

`?model=NVIDIA-L4&lifecycle=spot`: the same names as in the API. A page declares which of them it
supports; the others stay in the address, so that they still apply on other pages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from accounting.access.reads.teams import TeamRef, team_named
from accounting.kit.reads.dimensions import BY_NAME, PageUse, of_pages

Values = Mapping[str, tuple[str, ...]]

LABELS = {one.name: one.label for one in of_pages(PageUse.FILTER)}
MENU = tuple(one.name for one in of_pages(PageUse.MENU))
NONE = "-"  # the empty value in an address


@dataclass(frozen=True, slots=True)
class FilterChip:
    """One active filter, and the address without it."""

    label: str
    value: str
    url: str
    verb: str = "is"


@dataclass(frozen=True, slots=True)
class Facet:
    """One select of the filter menu: its name in the address and its options."""

    name: str
    label: str
    options: tuple[tuple[str, str, bool], ...]  # value, text, is chosen

    @property
    def is_several(self) -> bool:
        """True if the address has several values: the select shows all of them."""
        return sum(chosen for _, _, chosen in self.options) > 1


def read(query: QueryDict, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The filters of an address that a page supports; values that are not valid are ignored."""
    found = {}
    for name in LABELS:
        values = tuple(dict.fromkeys(v for v in query.getlist(name) if _is_value(v)))
        if known := BY_NAME[name].values:
            values = tuple(value for value in values if value in known)
        if values and name in names:
            found[name] = values
    return found


def _is_value(value: str) -> bool:
    return bool(value) and len(value) <= 253


def stored(value: str) -> str:
    """A value as rows contain it."""
    return "" if value == NONE else value


def written(value: str) -> str:
    """A value as an address contains it."""
    return value or NONE


def value_label(name: str, value: str, teams: Mapping[str, TeamRef]) -> str:
    """A value as text for people."""
    if name == "team":
        return team_named(teams, value).name if _is_team(value, teams) else value
    return stored(value) or BY_NAME[name].empty_label or value


def _is_team(slug: str, teams: Mapping[str, TeamRef]) -> bool:
    return slug in teams or slug == "unmapped"


def facets(
    held: Mapping[str, Sequence[str]], teams: Mapping[str, TeamRef], chosen: Values
) -> tuple[Facet, ...]:
    """The selects of the menu: values with held time in the range, and selected values.

    Args:
        held: of the range without filters, values by dimension.
        teams: names.
        chosen: active filters; they are offered even if the range does not have them.
    """
    found = []
    for name, values in held.items():
        ours = chosen.get(name, ())
        offered = {written(value) for value in values} | set(ours)
        if len(offered) < 2 and not ours:
            continue  # nothing to choose
        texts = sorted((value_label(name, value, teams), value) for value in offered)
        options = tuple((value, text, value in ours) for text, value in texts)
        found.append(Facet(name, LABELS[name], options))
    return tuple(found)
