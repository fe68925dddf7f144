"""Who may open a page: every page view passes one of these. Deny unless granted."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from accounting.access import Scope, person_of, scope_with
from accounting.queries.billing import (
    BillingSettings,
    billing_at,
    billing_remembered,
)


class Moved(Exception):  # not an error: the page has a plainer address
    """Raised by a view: what was asked for is at `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


Extra = ParamSpec("Extra")
View = Callable[Concatenate[HttpRequest, Extra], HttpResponseBase]
Rule = Callable[[Scope], bool]


class Visitor:
    """The signed-in person behind a request: scope, preferences and zones; read once."""

    def __init__(self, request: HttpRequest) -> None:
        user = request.user
        self.person = person_of(user)
        self.scope = scope_with(user, self.person)
        full_name = "" if isinstance(user, AnonymousUser) else user.get_full_name()
        self.name = full_name or user.get_username()
        self.now = timezone.now()
        self.billing: BillingSettings = billing_at(self.now)

    @cached_property
    def zone(self) -> ZoneInfo:
        """The zone of labels: the person's own, else the billing zone."""
        own = self.person.timezone if self.person else ""
        try:
            return ZoneInfo(own) if own else self.billing.zone
        except (ZoneInfoNotFoundError, ValueError):
            return self.billing.zone  # the zone data of this machine lack it

    @property
    def role(self) -> str:
        """The word for what they may do."""
        scope = self.scope
        if scope.is_admin:
            return "admin"
        if scope.is_finance:
            return "finance"
        if scope.lead_of:
            return "team lead"
        return "viewer" if scope.team_ids else "no team yet"


def visitor_of(request: HttpRequest) -> Visitor:
    """The visitor of a request, kept on it."""
    known: Visitor | None = getattr(request, "visitor", None)
    if known is None:
        known = Visitor(request)
        request.visitor = known  # type: ignore[attr-defined]
    return known


def page(rule: Rule, *, who: str) -> Callable[[View[Extra]], View[Extra]]:
    """A page for signed-in people whose scope keeps a rule.

    Args:
        rule: says yes or no to a scope.
        who: who may open it, for the text of a refusal.
    """

    def decorate(view: View[Extra]) -> View[Extra]:
        @login_required
        @wraps(view)
        def checked(
            request: HttpRequest, *args: Extra.args, **kwargs: Extra.kwargs
        ) -> HttpResponseBase:
            with billing_remembered():
                visitor = visitor_of(request)
                if not rule(visitor.scope):
                    raise PermissionDenied(who)
                try:
                    with timezone.override(visitor.zone):
                        return view(request, *args, **kwargs)
                except Moved as moved:
                    return redirect(moved.url)

        return checked  # type: ignore[return-value]  # wraps() forgets the view's own type

    return decorate


signed_in = page(lambda scope: True, who="people with an account")
sees_all = page(lambda scope: scope.sees_all, who="finance and administrators")
admins = page(lambda scope: scope.is_admin, who="administrators")
