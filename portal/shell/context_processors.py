"""The frame of every page: navigation by role, freshness, preferences."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from accounting.access.reads.teams import visible_teams
from accounting.health.pages import chip_of
from accounting.kit.pages.permissions import Visitor, asker_of, visitor_of
from portal.shell.navigation import NAVIGATION, NavItem
from scheduler_view.inbox.reads import counts_by_place

THEMES = (
    ("system", "System", "monitor"),
    ("light", "Light", "sun"),
    ("dark", "Dark", "moon"),
)


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A navigation item as the template draws it."""

    item: NavItem
    url: str
    is_current: bool
    count: int = 0  # number of items that wait for the visitor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.item, name)


def frame(request: HttpRequest) -> dict[str, Any]:
    """`frame` for the templates; only its theme for people who are not signed in."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"frame": {"theme": "system", "density": "comfortable"}}
    # a part of a page has no frame, and reads nothing for it
    return {"frame": SimpleLazyObject(lambda: _frame(request, visitor_of(request)))}


def _frame(request: HttpRequest, visitor: Visitor) -> dict[str, Any]:
    person, scope = visitor.person, visitor.scope
    theme = person.theme if person else "system"
    chip = chip_of(request)
    entries = _navigation(request, visitor)
    return {
        "theme": theme,
        "density": person.density if person else "comfortable",
        "themes": [
            {"name": name, "label": label, "icon": icon, "is_current": name == theme}
            for name, label, icon in THEMES
        ],
        "name": visitor.name,
        "role": visitor.role,
        "zone": visitor.zone.key,
        "now": visitor.now,
        "is_admin": scope.is_admin,
        "sees_all": scope.sees_all,
        "has_team": bool(scope.team_ids),
        "teams": SimpleLazyObject(lambda: visible_teams(scope)),
        "freshness": chip,
        "is_demo": chip.is_demo,
        "nav": entries,
        "waiting": sum(entry.count for entry in entries),
    }


def _navigation(request: HttpRequest, visitor: Visitor) -> list[NavEntry]:
    waiting = counts_by_place(asker_of(request))
    entries = []
    for item in NAVIGATION:
        if item.is_for(visitor.scope):
            url = reverse(item.route)
            inside = url != "/" and request.path.startswith(url)
            is_current = request.path == url or inside
            count = waiting.get(item.route, 0)
            entries.append(NavEntry(item, url, is_current, count))
    return entries
