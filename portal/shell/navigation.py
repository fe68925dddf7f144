"""The entries of the navigation with their tabs, in order, and who sees them.

An entry answers a question of a person; its tabs are the pages that answer it. It leads to the
first tab that the person may open, and is left out without one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.urls import reverse

from accounting.access import rights
from accounting.access.scope import Scope

Audience = Callable[[Scope], bool]


def in_team(scope: Scope) -> bool:
    """Everybody but people without a role and a team: they would see an empty page."""
    return scope.sees_any


def in_teams_only(scope: Scope) -> bool:
    """People in several teams, who have no entry Teams."""
    return not scope.sees_all and len(scope.team_ids or ()) > 1


def leads_only(scope: Scope) -> bool:
    """Leads without a role in the organization, who have no entry Budgets."""
    return not scope.sees_all and bool(scope.lead_of)


@dataclass(frozen=True, slots=True)
class Tab:
    """A page of an entry.

    Attributes:
        route: its name.
        key: follows `g` on the keyboard.
        allows: who sees the tab; never more people than may open the page.
        keeps_range: the link carries the range and the filters of the page that it is on.
        under: addresses of other pages that belong to it, besides those below its own.
    """

    route: str
    label: str
    key: str = ""
    allows: Audience = rights.SIGNED_IN.allows
    keeps_range: bool = False
    under: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Its address."""
        return _address(self.route)

    def claim(self, path: str) -> int:
        """How many characters of an address say that it belongs to this tab; -1 if none do."""
        return max(_claim(at, path) for at in (self.url, *self.under))


@dataclass(frozen=True, slots=True)
class NavItem:
    """An entry of the navigation."""

    label: str
    icon: str
    tabs: tuple[Tab, ...]

    def tabs_for(self, scope: Scope) -> list[Tab]:
        """The tabs that a person sees."""
        return [tab for tab in self.tabs if tab.allows(scope)]


@cache
def _address(route: str) -> str:
    """Of a route, which stays: the frame of a page needs sixty, and each takes 15 microseconds."""
    return reverse(route)


def _claim(at: str, path: str) -> int:
    is_inside = path == at or (at != "/" and path.startswith(f"{at}/"))
    return len(at) if is_inside else -1


ALERTS = NavItem(
    "Alerts",
    "",
    (
        Tab("alerts", "Alerts", "z", rights.ALERTS.allows),
        Tab("alerts-archived", "Archived", allows=rights.ALERTS.allows),
        Tab("alerts-resolved", "Resolved", allows=rights.ALERTS.allows),
        Tab("alert-rules", "Rules", allows=rights.ALERTS.allows),
    ),
)
"""Beside the search with a symbol of its own: not in the list, with tabs as an entry."""


INBOX = Tab("inbox", "Waiting for you", "j", rights.INBOX.allows)
"""A page of Overview that is not a tab."""


def place_of(path: str, scope: Scope) -> tuple[NavItem, Tab] | None:
    """The entry and the tab that an address belongs to, of those that a person has."""
    found = [
        (tab.claim(path), tab.allows(scope), item, tab)
        for item in (*NAVIGATION, ALERTS)
        if item.tabs_for(scope)
        for tab in item.tabs
    ]
    claim, _, item, tab = max(found, key=lambda one: one[:2])
    return (item, tab) if claim > 0 else None


_WHOLE, _LEADS = rights.WHOLE_FLEET.allows, rights.BUDGETS.allows

EXPLORE = Tab("explore", "Explore", allows=in_team, keeps_range=True)
OWN_BUDGETS = Tab("budgets", "Budgets", "b", leads_only)
OVERVIEW = NavItem(
    "Overview",
    "layout-dashboard",
    (
        Tab(
            "overview",
            "Overview",
            "o",
            keeps_range=True,
            under=("/overview", "/inbox", "/explain"),
        ),
        Tab("teams", "Teams", "t", in_teams_only, keeps_range=True),
        EXPLORE,
        OWN_BUDGETS,
    ),
)
NAVIGATION = (
    OVERVIEW,
    NavItem("Teams", "users", (Tab("teams", "Teams", "t", _WHOLE, keeps_range=True),)),
    NavItem(
        "Workloads",
        "layers",
        (
            Tab("queues", "Waiting", "k", in_team),
            Tab("idle-holders", "Idle now", "d", rights.WASTE.allows),
        ),
    ),
    NavItem(
        "GPUs",
        "cpu",
        (Tab("gpus", "GPUs and nodes", "g"), Tab("pools", "Pools", "v", in_team)),
    ),
    NavItem(
        "Quotas",
        "gauge",
        (
            Tab("quotas", "Quotas", "q"),
            Tab("limits", "Limits"),
            Tab("changes", "Changes", "c", in_team),
            Tab("tiers", "Tiers", "r", in_team),
        ),
    ),
    NavItem(
        "Savings",
        "trending-down",
        (
            Tab("recommendations", "Recommendations", allows=rights.WASTE.allows),
            Tab("waste", "Waste", "w", rights.WASTE.allows, keeps_range=True),
            Tab("anomalies", "Unusual days", "u", _LEADS),
            Tab("before-after", "Before and after", allows=_WHOLE),
            Tab("what-if", "What-if", "i", rights.ADMINISTRATION.allows),
        ),
    ),
    NavItem(
        "Billing",
        "scroll-text",
        (
            Tab(
                "months",
                "Months",
                "m",
                rights.PERIODS.allows,
                under=("/statements", "/entries"),
            ),
            Tab("charges", "Charges", "e", _LEADS),
            Tab("contests", "Contests", "n", rights.CONTESTS.allows),
            Tab("bills", "Bills", "f", rights.BILLS.allows),
            Tab("exports", "Exports", "x", _LEADS),
        ),
    ),
    NavItem("Budgets", "target", (Tab("budgets", "Budgets", "b", _WHOLE),)),
    NavItem(
        "Settings",
        "sliders-horizontal",
        (
            Tab("prices", "Prices", "p", in_team, under=("/conversion-rates",)),
            Tab("attribution", "Attribution", "a", _WHOLE),
            Tab("people", "People", "y", rights.ADMINISTRATION.allows),
            Tab(
                "team-directory",
                "Teams and cost centers",
                allows=rights.ADMINISTRATION.allows,
            ),
            Tab("data-health", "Data health", "h", under=("/clusters",)),
            Tab("audit", "Audit log", "l", rights.AUDIT.allows),
            Tab("setup", "Setup", "s", rights.ADMINISTRATION.allows),
            Tab("account", "Account"),
            Tab("notifications", "Notifications", under=("/account/weekly",)),
            Tab("api-docs", "API"),
        ),
    ),
)

OF_TEAM = (
    Tab("team", "Summary", keeps_range=True, under=("idle", "week", "give-back")),
    Tab("team-workloads", "Workloads", keeps_range=True, under=("families", "runs")),
    Tab("team-quota", "Quota"),
    Tab("team-rules", "Members and rules"),
)
"""Tabs of a team. Their routes have its slug, so that `claim` is not for them; what is `under` them
is the part of an address that follows it.
"""

ROUTES = tuple(
    dict.fromkeys(tab.route for item in (*NAVIGATION, ALERTS) for tab in item.tabs)
)
"""Every page of the navigation once."""
