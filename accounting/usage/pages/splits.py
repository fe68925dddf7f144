"""A range split by one dimension: a small table whose names are filters, and its menu."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounting.access.reads.teams import TeamRef
from accounting.core.money import amount_of
from accounting.kit.pages.addresses import Choice
from accounting.kit.pages.filters import LABELS, MENU, facets, value_label, written
from accounting.kit.reads.dimensions import PageUse, of_pages
from accounting.kit.reads.selection import Selection
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.facets import values_held
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow
from accounting.usage.rules.totals import Rounding, rounded_table, total_of

USUAL = "model"  # left out of the address
SPLITS = {  # labels by value in the address
    "" if one.name == USUAL else one.name: one.label for one in of_pages(PageUse.SPLIT)
}
SHOWN = 8  # rows; the CSV has all


@dataclass(frozen=True, slots=True)
class SplitLine:
    """One value of the dimension; `url` adds it to the filters, empty if it is one already."""

    name: str
    value: str
    url: str
    row: UsageRow


@dataclass(frozen=True, slots=True)
class DimensionSplit:
    """Held time by one dimension, largest charge first, and the total."""

    by: str
    label: str
    choices: tuple[Choice, ...]
    lines: tuple[SplitLine, ...]
    rest: UsageRow | None  # of the rows that are not shown
    rest_count: int
    rounding: Rounding  # what the total is more than the rows
    total: UsageRow


def split_of(
    state: PageState,
    selection: Selection,
    teams: Mapping[str, TeamRef],
    places: int,
) -> DimensionSplit:
    """Split a selection by the dimension in `?split=`; one query."""
    chosen = state.query.get("split", "")
    by = chosen if chosen and chosen in SPLITS else USUAL
    table = rounded_table(usage_rows(selection, (by,)), places)
    found = sorted(
        table.rows,
        key=lambda row: (-(amount_of(row.charge) or 0), -row.allocated_ms, row.key[by]),
    )
    shown = found if len(found) <= SHOWN + 1 else found[:SHOWN]
    rest = found[len(shown) :]
    return DimensionSplit(
        by,
        LABELS[by],
        tuple(choices(state, "split", SPLITS)),
        tuple(_line(row, by, state, teams) for row in shown),
        total_of(rest) if rest else None,
        len(rest),
        table.rounding,
        table.total,
    )


def choices(state: PageState, name: str, offered: Mapping[str, str]) -> list[Choice]:
    """The options of one key of the address; a value that is not offered means the first."""
    now = state.query.get(name, "")
    now = now if now in offered else next(iter(offered))
    return [
        Choice(
            value,
            label,
            state.with_values(name, [value] if value else []),
            value == now,
        )
        for value, label in offered.items()
    ]


def _line(
    row: UsageRow, by: str, state: PageState, teams: Mapping[str, TeamRef]
) -> SplitLine:
    value = written(row.key[by])
    is_chosen = value in state.filters.get(by, ())
    url = "" if is_chosen else state.with_filter(by, value)
    return SplitLine(value_label(by, value, teams), value, url, row)


def filtering(
    state: PageState, teams: Mapping[str, TeamRef], **own: str
) -> dict[str, object]:
    """For templates: the active filters and the menu that adds others; one query.

    Args:
        own: filters that the page sets itself, such as a team's page its team.
    """
    names = [name for name in MENU if name not in own]
    held = values_held(state.unfiltered(**own), names)
    return {
        "chips": state.filter_chips(teams),
        "facets": facets(held, teams, state.filters),
    }
