"""A person's own page: appearance, password, sign-ins, and API tokens."""

from datetime import timedelta

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render

from accounting.access.rights import SIGNED_IN
from accounting.kit.audit import act
from accounting.kit.outcomes import Refused
from accounting.kit.pages.permissions import posted, signed_in, visitor_of
from accounting.organization.actions.preferences import set_preferences
from accounting.organization.actions.sign_in_attempts import (
    TooManyAttemptsError,
    count_guess,
)
from accounting.organization.actions.tokens import (
    create_token,
    revoke_all,
    revoke_token,
)
from accounting.organization.forms import PasswordForm, PreferencesForm, TokenForm
from accounting.organization.reads.people import sign_ins_of
from accounting.organization.reads.tokens import token_rows

NEW_TOKEN = "new-token"  # noqa: S105  # where the session keeps a secret until it is shown


@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """Preferences, password, sign-ins and tokens; a new token's secret is shown once."""
    return _page(request, secret=request.session.pop(NEW_TOKEN, ""))


def _page(
    request: HttpRequest,
    *,
    form: TokenForm | None = None,
    password_form: PasswordChangeForm | None = None,
    secret: str = "",
) -> HttpResponse:
    visitor = visitor_of(request)
    person = visitor.person
    zone = person.timezone if person else ""
    shown = (form or TokenForm(), password_form or PasswordForm(request.user))
    context = {
        "visitor": visitor,
        "zone_form": PreferencesForm(initial={"timezone": zone}),
        "density": person.density if person else "comfortable",
        "form": shown[0],
        "password_form": shown[1],
        "secret": secret,
        "tokens": token_rows(request.user.pk or 0),
        "sign_ins": sign_ins_of(request.user.get_username()),
    }
    status = 422 if any(one.errors for one in shown) else 200
    return render(request, "organization/account.html", context, status=status)


@posted(SIGNED_IN, belongs_to="account")
def preferences(request: HttpRequest) -> HttpResponse:
    """Store the preferences of a request: theme, density or time zone."""
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        messages.error(
            request, " ".join(str(e) for errors in form.errors.values() for e in errors)
        )
        return (
            redirect("account")
            if "timezone" in request.POST
            else HttpResponseBadRequest()
        )
    chosen = {
        name: form.cleaned_data[name] for name in request.POST if name in form.fields
    }
    set_preferences(actor=request.user, **chosen)  # type: ignore[arg-type]  # the gate lets nobody else in
    if "timezone" in chosen:
        messages.success(request, "Labels use this time zone from now on.")
        return redirect("account")
    return HttpResponse(status=204)


@posted(SIGNED_IN, belongs_to="account")
def password_change(request: HttpRequest) -> HttpResponse:
    """Change the password; all other sessions of the person end, and tokens if they say so."""
    try:
        count_guess("own password", str(request.user.pk))
    except TooManyAttemptsError as error:
        minutes = -(-error.wait_s // 60)
        messages.error(request, f"Too many attempts. Try again in {minutes} min.")
        return redirect("account")
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, password_form=form)
    with act(request.user, "own password"):  # type: ignore[arg-type]  # the gate lets nobody else in
        form.save()
        if form.cleaned_data["revokes_tokens"]:
            revoke_all(form.user)
    update_session_auth_hash(request, form.user)
    messages.success(
        request,
        f"Your password is changed. Your other sessions are signed out.{_tokens_now(form)}",
    )
    return redirect("account")


def _tokens_now(form: PasswordForm) -> str:
    """What became of the tokens of a person who has a new password, as a sentence."""
    if form.cleaned_data["revokes_tokens"]:
        return " Your API tokens are revoked."
    return " Your API tokens still work." if token_rows(form.user.pk) else ""


@posted(SIGNED_IN, belongs_to="account")
def token_create(request: HttpRequest) -> HttpResponse:
    """Create a token; its secret is kept in the session for one view of the page."""
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            _, request.session[NEW_TOKEN] = create_token(
                owner=request.user,  # type: ignore[arg-type]  # the gate lets nobody else in
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                lifetime=timedelta(days=form.cleaned_data["days"]),
            )
        except Refused as error:
            form.add_error("name", str(error))
        else:
            return redirect("account")
    return _page(request, form=form)


@posted(SIGNED_IN, belongs_to="account")
def token_revoke(request: HttpRequest) -> HttpResponse:
    """Revoke one of the person's own tokens."""
    key = request.POST.get("token", "")
    if revoke_token(owner=request.user, token_key=key):  # type: ignore[arg-type]  # the gate lets nobody else in
        messages.success(request, "The token is revoked.")
    else:
        messages.error(request, "You have no such token.")
    return redirect("account")
