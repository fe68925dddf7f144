"""Saved views: the list, saving one, another name, deleting."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.access import rights
from accounting.explore.actions import (
    LONGEST_NAME,
    delete_view,
    rename_view,
    save_view,
)
from accounting.explore.reads.views import (
    ViewRow,
    audiences,
    query_of,
    view_rows,
)
from accounting.kit.forms import AccessibleForm
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import (
    posted,
    signed_in,
    signed_in_form,
    visitor_of,
)


class ViewNameForm(AccessibleForm):
    """The name of a view."""

    name = forms.CharField(max_length=LONGEST_NAME, label="Name")


class ViewForm(ViewNameForm):
    """A new view: its name, and who sees it."""

    audience = forms.ChoiceField(
        label="Who sees it",
        help_text="Everybody who opens it sees the usage of their own teams.",
    )

    def __init__(
        self, *args: Any, offered: Iterable[tuple[str, str]], **kwargs: Any
    ) -> None:
        self.offered = offered
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        """Whom the person may save a view for."""
        self.offer("audience", self.offered)


@signed_in
def view_list(request: HttpRequest) -> HttpResponse:
    """The views that the person may open."""
    rows = view_rows(_user(request), visitor_of(request).scope)
    context = {"page": paged(rows, request.GET.dict())}
    return render(request, "explore/views.html", context)


@signed_in_form
def view_add(request: HttpRequest) -> HttpResponse:
    """Save the address in the query under a name."""
    user = _user(request)
    query = query_of(dict(request.GET.lists()))
    offered = audiences(user, visitor_of(request).scope)
    given = request.POST if request.method == "POST" else None
    form = ViewForm(given, offered=offered)
    back = f"{reverse('explore')}?{query}" if query else reverse("explore")
    if request.method == "POST" and form.is_valid():
        try:
            view = save_view(**form.cleaned_data, query=query, user=user)
        except Refused as error:
            form.add_error(
                error.member if error.member in form.fields else None, error.sentence
            )
        else:
            messages.success(request, f"The view {view.name} is saved.")
            return redirect(back)
    context = {"form": form, "title": "Save this view", "back": back}
    return _form(request, context)


@signed_in_form
def view_rename(request: HttpRequest, number: int) -> HttpResponse:
    """Give a view another name."""
    row = _row(request, number)
    form = ViewNameForm(
        request.POST if request.method == "POST" else None, initial={"name": row.name}
    )
    if request.method == "POST" and form.is_valid():
        try:
            view = rename_view(number, form.cleaned_data["name"], _user(request))
        except Refused as error:
            _stop(error)
            form.add_error("name", error.sentence)
        else:
            messages.success(request, f"The view is named {view.name}.")
            return redirect("explore-views")
    back = reverse("explore-views")
    return _form(request, {"form": form, "title": f"Rename {row.name}", "back": back})


@posted(rights.SIGNED_IN, belongs_to="explore-views")
def view_delete(request: HttpRequest, number: int) -> HttpResponse:
    """Delete a view."""
    try:
        name = delete_view(number, _user(request))
    except Refused as error:
        _stop(error)
        raise
    messages.success(request, f"The view {name} is deleted.")
    return redirect("explore-views")


def _form(request: HttpRequest, context: dict[str, object]) -> HttpResponse:
    status = 422 if request.method == "POST" else 200
    return render(request, "components/form.html", context, status=status)


def _row(request: HttpRequest, number: int) -> ViewRow:
    rows = view_rows(_user(request), visitor_of(request).scope)
    row = next((one for one in rows if one.id == number), None)
    if row is None:
        raise Http404("no such view")
    if not row.is_own:
        raise PermissionDenied("who saved it, leads of its team, or administrators")
    return row


def _stop(error: Refused) -> None:
    """Raise what is not an error of a form."""
    if error.code == RefusalCode.MISSING:
        raise Http404(str(error)) from error
    if error.code == RefusalCode.FORBIDDEN:
        raise PermissionDenied(str(error)) from error


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)


def add_url(request: HttpRequest) -> str:
    """The form that saves the address of a request."""
    query = query_of(dict(request.GET.lists()))
    return (
        f"{reverse('explore-view-add')}?{query}"
        if query
        else reverse("explore-view-add")
    )
