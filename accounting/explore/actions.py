"""Saving, renaming and deleting views of Explore, each in the audit log with its actor."""

from django.contrib.auth.models import User
from django.db import IntegrityError

from accounting.access.models.people import Membership
from accounting.access.models.teams import Team
from accounting.access.scope import scope_of
from accounting.core.written_text import hidden_fault
from accounting.explore.models import SavedView
from accounting.explore.reads.views import audiences, may_change
from accounting.explore.rules import Audience
from accounting.kit.audit import act
from accounting.kit.outcomes import RefusalCode, Refused

LONGEST_NAME, LONGEST_QUERY = 80, 4000
MOST_VIEWS = 200
"""Of one person: a list that is longer helps nobody."""


def save_view(name: str, audience: str, query: str, user: User) -> SavedView:
    """Save an address under a name.

    Args:
        name: unique among the views of the same people.
        audience: one of `audiences` of the person.
        query: as `query_of` writes it.

    Raises:
        Refused: a name that is taken or not a text, an audience that is not offered, an address
            that is too long, too many views.
    """
    if audience not in dict(audiences(user, scope_of(user))):
        raise Refused("this is not yours to choose", member="audience")
    if len(query) > LONGEST_QUERY:
        raise Refused("the view has too many filters to be saved; use fewer values")
    kind, _, slug = audience.partition(":")
    team = Team.objects.get(slug=slug) if slug else None
    name = _checked(name)
    try:
        with act(user, f"saved the view {name}"):
            owned = SavedView.objects.filter(owner=user)
            if owned.count() >= MOST_VIEWS:
                raise Refused(f"you have {MOST_VIEWS} views; delete one first")
            return SavedView.objects.create(
                name=name, audience=kind, team=team, owner=user, query=query
            )
    except IntegrityError as error:
        raise _taken(name) from error


def rename_view(number: int, name: str, user: User) -> SavedView:
    """Give a view another name.

    Raises:
        Refused: it is not there for this person, or not theirs; the name is taken or not a text.
    """
    name = _checked(name)
    try:
        with act(user, f"renamed a view to {name}"):
            view = _own(number, user)
            view.name = name
            view.save(update_fields=["name", "changed_at"])
            return view
    except IntegrityError as error:
        raise _taken(name) from error


def delete_view(number: int, user: User) -> str:
    """Delete a view; its name.

    Raises:
        Refused: it is not there for this person, or not theirs.
    """
    with act(user, "deleted a view"):
        view = _own(number, user)
        view.delete()
        return view.name


def _own(number: int, user: User) -> SavedView:
    scope = scope_of(user)
    teams = set(Membership.objects.filter(user=user).values_list("team_id", flat=True))
    view = SavedView.objects.select_for_update().filter(pk=number).first()
    if view is None or not _is_seen(view, user, teams):
        raise Refused("there is no such view", RefusalCode.MISSING)
    if not may_change(view, user, scope, teams):
        raise Refused(
            "leads change the views of their team, finance and administrators those of everybody",
            RefusalCode.FORBIDDEN,
        )
    return view


def _is_seen(view: SavedView, user: User, teams: set[int]) -> bool:
    if view.audience == Audience.MINE:
        return view.owner_id == user.pk
    return view.audience == Audience.ALL or view.team_id in teams


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise Refused(f"a name has 1 to {LONGEST_NAME} characters", member="name")
    if fault := hidden_fault(name):
        raise Refused(f"the name {fault}", member="name")
    return name


def _taken(name: str) -> Refused:
    return Refused(
        f"there is a view named {name} already", RefusalCode.CONFLICT, "name"
    )
