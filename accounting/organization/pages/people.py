"""People: who can sign in, with which roles; new people, and one person's account."""

from typing import Any, cast
from urllib.parse import urljoin

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access.models.people import TeamRole
from accounting.access.rights import ADMINISTRATION
from accounting.access.scope import scope_of
from accounting.kit.outcomes import Refused
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import admin_form, admins, posted
from accounting.kit.reads.selection import SelectionError
from accounting.organization.actions.people import (
    password_ticket,
    save_person,
    sign_out,
)
from accounting.organization.actions.sign_outs import sessions_of
from accounting.organization.actions.tokens import revoke_token
from accounting.organization.pages.people_forms import (
    LEAVES,
    MemberForm,
    PersonForm,
    RoleForm,
)
from accounting.organization.reads.people import (
    PersonRow,
    person_rows,
    sign_ins_of,
)
from accounting.organization.reads.tokens import token_rows

NEW_LINK = "new-password-link"  # where the session keeps a link until it is shown
REASON = "People page"
KINDS = {
    "admin": "Administrators",
    "finance": "Finance",
    "lead": "Leads",
    "viewer": "Viewers",
    "deactivated": "Deactivated",
}


@admins
def people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account; `kind` and `q` filter."""
    kind, text = request.GET.get("kind", ""), request.GET.get("q", "").strip()
    if kind and kind not in KINDS:
        raise SelectionError(f"kind={kind!r} is not one of {', '.join(KINDS)}")
    rows = person_rows()
    found = [
        row
        for row in rows
        if kind in ("", kind_of(row)) and text.lower() in row.name.lower()
    ]
    counts = {value: sum(1 for row in rows if kind_of(row) == value) for value in KINDS}
    context = {
        "page": paged(found, request.GET.dict()),
        "everybody": len(rows),
        "active": sum(1 for row in rows if row.is_active),
        "waiting": sum(1 for row in rows if row.is_active and not row.can_sign_in),
        "kinds": [
            (value, label, counts[value])
            for value, label in KINDS.items()
            if counts[value]
        ],
        "kind": kind,
        "text": text,
    }
    return render(request, "organization/people.html", context)


def kind_of(row: PersonRow) -> str:
    """The widest right of a person; deactivated people have none."""
    if not row.is_active:
        return "deactivated"
    if row.role != "viewer":
        return row.role
    return "lead" if row.leads else "viewer"


@admin_form
def person_add(request: HttpRequest) -> HttpResponse:
    """Give a person an account, and show the link with which they choose a password."""
    asked = {"role": "viewer", "team": request.GET.get("team", "")}
    form = PersonForm(request.POST or None, initial=asked)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["name"]
        try:
            save_person(
                name,
                role=form.cleaned_data["role"],
                teams=form.teams,
                is_new=True,
                actor=_who(request),
                reason=REASON,
            )
        except Refused as error:
            form.add_error("name", error.sentence)
        else:
            user = User.objects.get(username=name)
            _make_link(request, user)
            return redirect("person", number=user.pk)
    status = 422 if request.method == "POST" else 200
    context = {
        "form": form,
        "title": "Add a person",
        "submit": "Add this person",
        "back": reverse("people"),
    }
    return render(request, "organization/person_form.html", context, status=status)


@admins
def person(request: HttpRequest, number: int) -> HttpResponse:
    """Roles, sessions, tokens and sign-ins of one person, with what can be done about them."""
    user = _user(number)
    [row] = person_rows(user.get_username())
    link, whose = request.session.get(NEW_LINK, ("", 0))
    if whose == user.pk:
        del request.session[NEW_LINK]
    context = {
        "row": row,
        "role_form": RoleForm(initial={"role": row.role}),
        "member_form": MemberForm(),
        "sessions": len(sessions_of(user)),
        "tokens": token_rows(user.pk),
        "sign_ins": sign_ins_of(user.get_username()),
        "link": link if whose == user.pk else "",
        "link_hours": settings.PASSWORD_RESET_TIMEOUT // 3600,
        "is_self": user.pk == request.user.pk,
    }
    return render(request, "organization/person.html", context)


@posted(ADMINISTRATION, belongs_to="person")
def person_role(request: HttpRequest, number: int) -> HttpResponse:
    """Another role in the organization; who gives up their own may not open this page again."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _back(request, number, errors=form.errors.values())
    return _changed(request, number, role=form.cleaned_data["role"])


@posted(ADMINISTRATION, belongs_to="person")
def person_team(request: HttpRequest, number: int) -> HttpResponse:
    """A role in one team, or none any more."""
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _back(request, number, errors=form.errors.values())
    role = form.cleaned_data["team_role"]
    teams = {form.cleaned_data["team"]: None if role == LEAVES else TeamRole(role)}
    return _changed(request, number, teams=teams)


@posted(ADMINISTRATION, belongs_to="person")
def person_active(request: HttpRequest, number: int) -> HttpResponse:
    """Deactivate the account, or make it active again."""
    return _changed(request, number, is_active=request.POST.get("active") == "yes")


@posted(ADMINISTRATION, belongs_to="person")
def person_link(request: HttpRequest, number: int) -> HttpResponse:
    """A new link to choose a password; the page shows it once."""
    user = _user(number)
    try:
        _make_link(request, user)
    except Refused as error:
        messages.error(request, error.sentence)
    return redirect("person", number=number)


@posted(ADMINISTRATION, belongs_to="person")
def person_sign_out(request: HttpRequest, number: int) -> HttpResponse:
    """End the sessions of a person."""
    user = _user(number)
    sign_out(user, actor=_who(request))
    if user.pk == request.user.pk:
        return redirect(settings.LOGIN_URL)
    messages.success(request, f"{user.get_username()} is signed out everywhere.")
    return redirect("person", number=number)


@posted(ADMINISTRATION, belongs_to="person")
def person_token(request: HttpRequest, number: int) -> HttpResponse:
    """Revoke one API token of a person."""
    user, key = _user(number), request.POST.get("token", "")
    if revoke_token(owner=user, token_key=key, actor=_who(request)):
        messages.success(request, "The token is revoked.")
    else:
        messages.error(request, f"{user.get_username()} has no such token.")
    return redirect("person", number=number)


def _changed(request: HttpRequest, number: int, **changes: Any) -> HttpResponse:
    user = _user(number)
    try:
        done = save_person(
            user.get_username(), **changes, actor=_who(request), reason=REASON
        )
    except Refused as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, f"{'; '.join(done) or 'Nothing changed'}.")
    if ADMINISTRATION.allows(scope_of(_user(request.user.pk or 0))):
        return redirect("person", number=number)
    return redirect("overview")


def _back(request: HttpRequest, number: int, *, errors: Any) -> HttpResponse:
    _user(number)
    messages.error(request, " ".join(str(one) for found in errors for one in found))
    return redirect("person", number=number)


def _make_link(request: HttpRequest, user: User) -> None:
    ticket = password_ticket(user.get_username(), actor=_who(request))
    link = urljoin(settings.PUBLIC_URL, reverse("password-link", args=ticket))
    request.session[NEW_LINK] = (link, user.pk)


def _user(number: int) -> User:
    user = User.objects.filter(pk=number).first()
    if user is None:
        raise Http404("no such person")
    return user


def _who(request: HttpRequest) -> User:
    return cast("User", request.user)
