"""The navigation as the frame of one page draws it: entries, tabs, marks and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from accounting.access.reads.teams import visible_teams
from accounting.access.scope import Scope
from accounting.kit.pages.permissions import Visitor, asker_of
from portal.shell.navigation import (
    ALERTS,
    EXPLORE,
    INBOX,
    NAVIGATION,
    OF_TEAM,
    OVERVIEW,
    OWN_BUDGETS,
    NavItem,
    Tab,
    place_of,
)
from scheduler_view.inbox.reads import counts_by_place, new_alerts


@dataclass(frozen=True, slots=True)
class ShownTab:
    """A tab as templates draw it.

    Attributes:
        current: the value of `aria-current`: `page`, `true` for a page above this one, or "".
        count: number of items that wait for the visitor.
    """

    label: str
    url: str
    key: str
    keeps_range: bool
    current: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class NavEntry:
    """An entry as templates draw it; it leads to the first of its tabs.

    Attributes:
        count: number of items that wait for the visitor in its tabs; at Overview all of them, for
            people whose Overview is not their team.
    """

    label: str
    icon: str
    tabs: Sequence[ShownTab]
    current: str
    count: int


@dataclass(frozen=True, slots=True)
class ShownNavigation:
    """What the frame of a page shows.

    Attributes:
        tabs: those below the head of the page; none if there would be only one.
        tabs_of: what they belong to.
        above: the entry, over the title of one of its tabs.
        waiting: number of items that wait for the visitor, each once.
        alerts: their entry with the number of new ones; None for people who read none.
    """

    entries: Sequence[NavEntry]
    waiting: int
    alerts: NavEntry | None = None
    tabs: Sequence[ShownTab] = ()
    tabs_of: str = ""
    above: str = ""


def shown_navigation(request: HttpRequest, visitor: Visitor) -> ShownNavigation:
    """Entries and tabs of a page for its visitor."""
    path, scope = request.path, visitor.scope
    item, tab = place_of(path, scope) or (None, None)
    waiting = counts_by_place(asker_of(request))
    total = sum(waiting.values())
    found = {}
    for one in (*NAVIGATION, ALERTS):
        tabs = [_tab(its, path, tab, waiting) for its in one.tabs_for(scope)]
        if tabs:
            is_sum = one is OVERVIEW and scope.sees_all
            count = total if is_sum else sum(its.count for its in tabs)
            if one is ALERTS:
                count = new_alerts(asker_of(request))
            current = (tabs[0].current or "true") if one is item else ""
            found[one] = NavEntry(one.label, one.icon, tabs, current, count)
    alerts = found.pop(ALERTS, None)
    entries = [*found.values()]
    if item is None or tab is None:
        return ShownNavigation(entries, total, alerts)
    if slug := _team_of(request, scope, item):
        of_team = _team_tabs(slug, path, scope, tab)
        return ShownNavigation(entries, total, alerts, of_team, "Team")
    entry = alerts if item is ALERTS and alerts else found[item]
    shown = entry.tabs
    if len(shown) == 1:
        return ShownNavigation(entries, total, alerts)
    is_below = tab.label != item.label and path == tab.url
    above = item.label if is_below else ""
    return ShownNavigation(entries, total, alerts, shown, item.label, above)


def tabs_with_keys(
    shown: ShownNavigation, path: str, scope: Scope
) -> Sequence[ShownTab]:
    """Tabs that a key opens: those of the entries and of the alerts, and the inbox."""
    entries = (*shown.entries, *([shown.alerts] if shown.alerts else []))
    tabs = [tab for entry in entries for tab in entry.tabs if tab.key]
    if INBOX.allows(scope):
        is_here = path == INBOX.url
        tabs.append(_tab(INBOX, path, INBOX if is_here else None, {}))
    return tabs


def _tab(
    tab: Tab, path: str, current: Tab | None, waiting: Mapping[str, int]
) -> ShownTab:
    mark = "page" if path == tab.url else "true"
    return ShownTab(
        tab.label,
        tab.url,
        tab.key,
        tab.keeps_range,
        mark if tab is current else "",
        waiting.get(tab.route, 0),
    )


def _team_of(request: HttpRequest, scope: Scope, item: NavItem) -> str:
    """The team whose tabs a page has: its own, or the only one of a visitor; else ""."""
    match = request.resolver_match
    if match and match.route.startswith("teams/<slug:slug>"):
        return str(match.kwargs["slug"])
    if item is OVERVIEW and len(scope.team_ids or ()) == 1:
        return next(iter(visible_teams(scope)), "")
    return ""


def _team_tabs(slug: str, path: str, scope: Scope, current: Tab) -> list[ShownTab]:
    """Tabs of a team. Who has this team only finds the other tabs of Overview here."""
    base, tabs = reverse("team", args=[slug]), []
    for tab in OF_TEAM:
        url = reverse(tab.route, args=[slug])
        part = path.removeprefix(f"{base}/").partition("/")[0]
        mark = "page" if path == url else "true" if part in tab.under else ""
        tabs.append(ShownTab(tab.label, url, "", tab.keeps_range, mark))
    if len(scope.team_ids or ()) == 1:
        for tab in (EXPLORE, OWN_BUDGETS):
            if tab.allows(scope):
                tabs.insert(-1, _tab(tab, path, current, {}))
    return tabs
