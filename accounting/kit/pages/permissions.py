"""Who may open a page: every page view uses one of these. Access is denied unless granted."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from accounting.access import rights
from accounting.access.reads.billing_settings import (
    BillingSettings,
    billing_at,
    billing_remembered,
)
from accounting.access.rights import Right
from accounting.access.scope import Scope, person_of, scope_with
from accounting.core.read_once import reading
from accounting.kit.inbox import Asker
from accounting.kit.reads.selection import SelectionError


class PageMoved(Exception):  # not an error: the page has a shorter address
    """Raised by a view: the page has the address `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


Extra = ParamSpec("Extra")
View = Callable[Concatenate[HttpRequest, Extra], HttpResponseBase]


class Visitor:
    """The signed-in person of a request: scope, preferences and zones; read once."""

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
            return self.billing.zone  # not in the zone data of this machine

    @property
    def role(self) -> str:
        """The displayed name of the role."""
        scope = self.scope
        if scope.is_admin:
            return "admin"
        if scope.is_finance:
            return "finance"
        if scope.lead_of:
            return "team lead"
        return "viewer" if scope.team_ids else "no team yet"


def visitor_of(request: HttpRequest) -> Visitor:
    """The visitor of a request, cached on it."""
    known: Visitor | None = getattr(request, "visitor", None)
    if known is None:
        known = Visitor(request)
        request.visitor = known  # type: ignore[attr-defined]  # our own attribute
    return known


def asker_of(request: HttpRequest) -> Asker:
    """The visitor of a request, as what waits for a person is read."""
    visitor, user = visitor_of(request), request.user
    return Asker(visitor.scope, user.pk or 0, user.get_username(), visitor.now)


READ = ("GET", "HEAD")
FORM = (*READ, "POST")


def shared_reads(request: HttpRequest) -> AbstractContextManager[None]:
    """Read once what several parts of an answer need, if the request can write nothing."""
    return reading() if request.method in READ else nullcontext()


def page(
    right: Right, takes: Sequence[str] = READ
) -> Callable[[View[Extra]], View[Extra]]:
    """A page for signed-in people with a right.

    Args:
        right: who may open it; others get 403 that names the allowed roles, or 404 if hidden.
        takes: its methods; others are 405 for everybody.
    """

    def decorate(view: View[Extra]) -> View[Extra]:
        @login_required
        @wraps(view)
        def checked(
            request: HttpRequest, *args: Extra.args, **kwargs: Extra.kwargs
        ) -> HttpResponseBase:
            if request.method not in takes:
                return HttpResponseNotAllowed(takes)
            with shared_reads(request), billing_remembered():
                visitor = visitor_of(request)
                _check(right, visitor.scope)
                try:
                    with timezone.override(visitor.zone):
                        return view(request, *args, **kwargs)
                except PageMoved as moved:
                    return redirect(moved.url)
                except SelectionError as error:
                    detail = f"{str(error)[:1].upper()}{str(error)[1:]}."
                    return render(request, "400.html", {"detail": detail}, status=400)

        return checked  # type: ignore[return-value]  # wraps() forgets the view's own type

    return decorate


def posted(right: Right, *, belongs_to: str) -> Callable[[View[Extra]], View[Extra]]:
    """An address to which a form of another page is posted.

    A GET, by reload or from the history, redirects to that page.

    Args:
        right: who may post.
        belongs_to: the name of the page; it gets the arguments of the address that it accepts.
    """

    def decorate(view: View[Extra]) -> View[Extra]:
        answered = page(right, (*READ, "POST"))(view)

        @wraps(answered)
        def checked(
            request: HttpRequest, *args: Extra.args, **kwargs: Extra.kwargs
        ) -> HttpResponseBase:
            if request.method in READ:
                return redirect(_page_of(belongs_to, kwargs))
            return answered(request, *args, **kwargs)

        return checked  # type: ignore[return-value]  # wraps() forgets the view's own type

    return decorate


def _check(right: Right, scope: Scope) -> None:
    if right.allows(scope):
        return
    if right.is_hidden:
        raise Http404
    raise PermissionDenied(right.who)


def _page_of(name: str, arguments: Mapping[str, object]) -> str:
    """The address of a page, with those of the arguments that it accepts."""
    kept = dict(arguments)
    while True:
        try:
            return reverse(name, kwargs=kept)
        except NoReverseMatch:
            kept.popitem()  # KeyError: the page does not exist


signed_in = page(rights.SIGNED_IN)
signed_in_form = page(rights.SIGNED_IN, FORM)
sees_all = page(rights.WHOLE_FLEET)
leads = page(rights.BUDGETS)
finance_form = page(rights.SET_BUDGETS, FORM)
admins = page(rights.ADMINISTRATION)
admin_form = page(rights.ADMINISTRATION, FORM)
