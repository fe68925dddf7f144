"""The frame of every page: navigation by role, freshness, preferences."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounting.access.reads.teams import visible_teams
from accounting.health.pages import chip_of
from accounting.kit.pages.permissions import Visitor, visitor_of
from portal.shell.shown_navigation import shown_navigation, tabs_with_keys

THEMES = (
    ("system", "System", "monitor"),
    ("light", "Light", "sun"),
    ("dark", "Dark", "moon"),
)


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
    shown = shown_navigation(request, visitor)
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
        "has_one_team": len(scope.team_ids or ()) == 1,
        "teams": SimpleLazyObject(lambda: visible_teams(scope)),
        "freshness": chip,
        "is_demo": chip.is_demo,
        "nav": shown.entries,
        "alerts": shown.alerts,
        "tabs": shown.tabs,
        "keyed": tabs_with_keys(shown, request.path, scope),
        "tabs_of": shown.tabs_of,
        "above": shown.above,
        "waiting": shown.waiting,
    }
