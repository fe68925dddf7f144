"""Saved views that a person sees, and may change."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.urls import reverse

from accounting.access.models.people import Membership
from accounting.access.scope import Scope
from accounting.explore.models import SavedView
from accounting.explore.reads.groupings import FILTERED
from accounting.explore.rules import Audience

PARAMETERS = (
    *("range", "from", "to", "cmp", "by", "then", "show", "as", "close", "sort"),
    *(prefix + name for prefix in ("", "not_") for name in FILTERED),
)
"""The parts of an address that a view has."""


@dataclass(frozen=True, slots=True)
class ViewRow:
    """One saved view, as a person sees it.

    Attributes:
        whose: `Only you`, a team, or `Everybody`.
        is_own: whether the person may rename and delete it.
        is_fixed: it names the closes of months, so it shows the same for good.
    """

    id: int
    name: str
    whose: str
    owner: str
    query: str
    is_own: bool

    @property
    def url(self) -> str:
        """Explore as it was saved."""
        path = reverse("explore")
        return f"{path}?{self.query}" if self.query else path

    @property
    def is_fixed(self) -> bool:
        """Whether it names closes."""
        return any(part.startswith("close=") for part in self.query.split("&"))


def query_of(pairs: Mapping[str, Sequence[str]]) -> str:
    """What a view keeps of an address, in an order that does not depend on how it was clicked."""
    kept = [
        (name, value)
        for name in PARAMETERS
        for value in dict.fromkeys(pairs.get(name, ()))
        if value
    ]
    return urlencode(kept)


def view_rows(user: User | AnonymousUser, scope: Scope) -> list[ViewRow]:
    """The own views, those of the own teams, and those of all; two queries."""
    teams = set(
        Membership.objects.filter(user_id=user.pk or 0).values_list(
            "team_id", flat=True
        )
    )
    seen = (
        Q(audience=Audience.MINE, owner_id=user.pk)
        | Q(audience=Audience.TEAM, team_id__in=teams)
        | Q(audience=Audience.ALL)
    )
    found = SavedView.objects.filter(seen).select_related("team", "owner")
    return sorted(
        (_row(view, user, scope, teams) for view in found),
        key=lambda row: (row.name.lower(), row.whose, row.id),
    )


def _row(
    view: SavedView, user: User | AnonymousUser, scope: Scope, teams: Collection[int]
) -> ViewRow:
    whose = {Audience.MINE: "Only you", Audience.ALL: "Everybody"}
    return ViewRow(
        view.pk,
        view.name,
        whose.get(Audience(view.audience), view.team.name if view.team else ""),
        view.owner.get_full_name() or view.owner.get_username(),
        view.query,
        may_change(view, user, scope, teams),
    )


def may_change(
    view: SavedView, user: User | AnonymousUser, scope: Scope, teams: Collection[int]
) -> bool:
    """Whether a person may rename and delete a view.

    The own ones; of a team, its leads who are in it; of all, finance and administrators.
    """
    if view.audience == Audience.MINE:
        return view.owner_id == user.pk
    if view.audience == Audience.ALL:
        return scope.is_admin or scope.is_finance
    return view.team_id in scope.lead_of and view.team_id in teams


def audiences(user: User | AnonymousUser, scope: Scope) -> list[tuple[str, str]]:
    """Whom a person may save a view for: `mine`, `team:vision`, `all`, with words."""
    led = Membership.objects.filter(user_id=user.pk or 0, team_id__in=scope.lead_of)
    found = [(str(Audience.MINE), "Only me")]
    found += [
        (f"{Audience.TEAM}:{one.team.slug}", f"Everybody in {one.team.name}")
        for one in led.select_related("team").order_by("team__name")
    ]
    if scope.is_admin or scope.is_finance:
        found.append((str(Audience.ALL), "Everybody"))
    return found
