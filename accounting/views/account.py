"""A person's own page: how things look, and API tokens."""

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render

from accounting.actions.preferences import set_preferences
from accounting.actions.tokens import create_token, revoke_token
from accounting.forms import PreferencesForm, TokenForm
from accounting.queries.tokens import token_rows
from accounting.rights import SIGNED_IN
from accounting.views.gate import posted, signed_in, visitor_of


@signed_in
def account(request: HttpRequest) -> HttpResponse:
    """Preferences and tokens."""
    return _page(request, TokenForm())


def _page(request: HttpRequest, form: TokenForm, secret: str = "") -> HttpResponse:
    visitor = visitor_of(request)
    person = visitor.person
    zone = person.timezone if person else ""
    context = {
        "visitor": visitor,
        "zone_form": PreferencesForm(initial={"timezone": zone}),
        "density": person.density if person else "comfortable",
        "form": form,
        "secret": secret,
        "tokens": token_rows(request.user.pk or 0),
    }
    status = 422 if form.errors else 200
    return render(request, "accounting/account.html", context, status=status)


@posted(SIGNED_IN, belongs_to="account")
def preferences(request: HttpRequest) -> HttpResponse:
    """Keep what a page sends: theme, density or time zone."""
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
    set_preferences(actor=request.user, **chosen)  # type: ignore[arg-type]
    if "timezone" in chosen:
        messages.success(request, "Labels use this time zone from now on.")
        return redirect("account")
    return HttpResponse(status=204)


@posted(SIGNED_IN, belongs_to="account")
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token; its secret is on this answer and nowhere else."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    _, secret = create_token(
        owner=request.user,  # type: ignore[arg-type]
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        lifetime=timedelta(days=form.cleaned_data["days"]),
    )
    answer = _page(request, TokenForm(), secret)
    answer["Cache-Control"] = "no-store"
    return answer


@posted(SIGNED_IN, belongs_to="account")
def token_revoke(request: HttpRequest) -> HttpResponse:
    """End one of the person's own tokens."""
    key = request.POST.get("token", "")
    if revoke_token(owner=request.user, token_key=key):  # type: ignore[arg-type]
        messages.success(request, "The token has ended.")
    else:
        messages.error(request, "You have no such token.")
    return redirect("account")
