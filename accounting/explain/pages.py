"""The explanation of a number: as a drawer, and as a page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.reads.teams import UNMAPPED_TEAM, TeamRef, visible_teams
from accounting.core.interval import Interval
from accounting.core.money import Money, minor_places
from accounting.explain.reads.explain import FIGURES, explain
from accounting.explain.reads.prices import PriceUsed, amounts_of, merged_closes
from accounting.explain.reads.rules import RULES
from accounting.kit.pages.filters import LABELS, value_label
from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.permissions import signed_in
from accounting.kit.reads.dimensions import FILTERS
from accounting.kit.reads.selection import SelectionError, parse_time
from accounting.organization.reads.directory import BindingRow, binding_rows
from accounting.usage.pages.page_state import PageState

KEYS = tuple(name for name in FILTERS if name not in (*LABELS, "cluster"))


_KINDS_WITH_TIME = ("", "usage", "platform")
SHOWN = 15  # prices in the drawer; the page shows all


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by amount, the remaining ones as one line, and the total.

    Attributes:
        rest: number of the remaining prices; `rest_ms` and `rest_amounts` are their sums.
        unpriced_ms: the time without a price, which no amount includes.
    """

    lines: tuple[PriceUsed, ...]
    rest: int
    rest_ms: int | None
    rest_amounts: tuple[Money, ...]
    total_ms: int | None
    totals: tuple[Money, ...]
    unpriced_ms: int


def price_table(prices: Sequence[PriceUsed], shown: int | None = None) -> PriceTable:
    """A table of prices; `shown` of them separately, None for all.

    If only one more remains, it is shown instead of "1 more price".
    """
    cut = len(prices) if shown is None or len(prices) <= shown + 1 else shown
    rest = prices[cut:]
    return PriceTable(
        lines=tuple(prices[:cut]),
        rest=len(rest),
        rest_ms=_time_of(rest),
        rest_amounts=amounts_of(rest),
        total_ms=_time_of(prices),
        totals=amounts_of(prices),
        unpriced_ms=sum(one.milliseconds or 0 for one in prices if one.amount is None),
    )


def _time_of(prices: Iterable[PriceUsed]) -> int | None:
    """The time of prices; None if a range cuts the day of a booked one."""
    times = [one.milliseconds for one in prices if one.kind in _KINDS_WITH_TIME]
    known = [ms for ms in times if ms is not None]
    return sum(known) if len(known) == len(times) else None


@signed_in
def explanation(request: HttpRequest) -> HttpResponse:
    """One number: formula with values, samples, metric, price, rule."""
    state = PageState(request, compares=False, filters=LABELS)
    figure = request.GET.get("what", "")
    key = {name: request.GET.get(name, "") for name in KEYS if request.GET.get(name)}
    teams = visible_teams(state.visitor.scope)
    _check(state, figure, teams)
    try:
        exact = _exact(request)
        selection = state.selection(**key)
        if exact is not None:
            selection = replace(selection, period=exact)
        found = explain(selection, figure, minor_places(state.currency))
    except SelectionError as error:
        raise Http404(str(error)) from error
    context = {
        "state": state,
        "found": found,
        "chosen": [chip.value for chip in state.filter_chips(teams)]
        + list(key.values()),
        "team": ", ".join(
            value_label("team", v, teams) for v in state.filters.get("team", ())
        ),
        "what": figure,
        "exact": exact,
        "prices": price_table(
            merged_closes(found.prices), SHOWN if is_fragment(request) else None
        ),
        "states_ms": sum(one.milliseconds for one in found.states),
        "page_url": request.get_full_path(),
        "rules": [(name, RULES.get(name, "")) for name in found.rules],
        "bindings": _bindings(state),
        "version": settings.VERSION,
    }
    name = (
        "explain/_explanation.html" if is_fragment(request) else "explain/explain.html"
    )
    return render(request, name, context)


def _exact(request: HttpRequest) -> Interval | None:
    """A period within the days, from `since` and `until`; None for the whole days.

    Raises:
        SelectionError: one of the two is missing, or not a time on a five-minute boundary.
    """
    since, until = (request.GET.get(name, "") for name in ("since", "until"))
    if not since and not until:
        return None
    start, end = parse_time(since, "since"), parse_time(until, "until")
    if end <= start:
        raise SelectionError("until must be later than since", parameter="until")
    return Interval.of(start, end)


def _check(state: PageState, figure: str, teams: Mapping[str, TeamRef]) -> None:
    """404 for objects that do not exist or are hidden: both look the same."""
    scope = state.visitor.scope
    if figure not in FIGURES or (figure == "ledger" and not scope.sees_all):
        raise Http404("unknown figure")
    allowed = {*teams, UNMAPPED_TEAM.slug} if scope.sees_all else set(teams)
    if not allowed.issuperset(state.filters.get("team", ())):
        raise Http404("no such team")


def _bindings(state: PageState) -> list[BindingRow]:
    teams = state.filters.get("team", ())
    if not teams:
        return []
    return [row for row in binding_rows(state.visitor.scope) if row.team in teams]
