"""The pages of a declared list (`accounting/kit/resources`): the list, and forms of its verbs."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from accounting.kit.outcomes import RefusalCode, Refused
from accounting.kit.pages.paging import paged
from accounting.kit.pages.permissions import FORM, page, posted, visitor_of
from accounting.kit.resources.forms import InputForm, form_of
from accounting.kit.resources.resource import Resource, Verb

View = Callable[..., HttpResponseBase]
Wrong = Callable[[HttpRequest, Any, InputForm], HttpResponse]
Start = Callable[[Any, Mapping[str, Any]], dict[str, Any]]


def list_page(
    resource: Resource,
    title: str,
    columns: str,
    *,
    template: str = "components/list.html",
) -> View:
    """The page of a list, if a table of its rows says all; its verb "" has the page `NAME-add`.

    Args:
        resource: the list; the name of the page is that of the list.
        title: of the page.
        columns: of the table, as `list_table` takes them.
        template: extends `components/list.html`, if cells are special.
    """
    made = next((verb for verb in resource.verbs if not verb.name), None)

    @page(resource.right)
    def view(request: HttpRequest) -> HttpResponse:
        scope = visitor_of(request).scope
        context = {
            "list": resource,
            "title": title,
            "columns": columns,
            "page": paged([*resource.rows(scope)], request.GET.dict()),
            "add": made if made and made.right.allows(scope) else None,
            "add_name": f"{resource.name}-add",
        }
        return render(request, template, context)

    view.__doc__ = resource.about
    return view


def form_page(
    resource: Resource,
    verb: Verb,
    template: str = "components/form.html",
    *,
    to: str,
    form: type[InputForm] | None = None,
    start: Start | None = None,
) -> View:
    """The page of a verb's form.

    Args:
        resource, verb: what is done.
        template: gets `form`, `row`, `title`, `visitor` and the address `back`.
        to: the name of the page after it: that of the list, or of the item.
        form: instead of the one that derives from the input.
        start: what the form shows first, by the item and the query.
    """
    made = form or form_of(verb.takes)

    @page(verb.right, FORM)
    def view(request: HttpRequest, number: int | None = None) -> HttpResponse:
        row = _row(request, resource, number)
        initial = start(row, request.GET) if start else {}
        given = request.POST if request.method == "POST" else None  # also an empty one
        found = made(given, initial=initial)
        if request.method == "POST" and found.is_valid():
            try:
                done = verb.do(number, found.given, request.user)
            except Refused as error:
                _stop(error)
                found.refuse(error)
            else:
                messages.success(request, done.text or verb.done.format(row=row))
                return (
                    redirect(to) if to == resource.name else redirect(to, done.number)
                )
        context = {
            "form": found,
            "row": row,
            "visitor": visitor_of(request),
            "title": verb.title,
            "back": _back(resource, to, number),
        }
        status = 422 if request.method == "POST" else 200
        return render(request, template, context, status=status)

    view.__doc__ = verb.about
    return view


def button(
    resource: Resource, verb: Verb, *, to: str, wrong: Wrong | None = None
) -> View:
    """The address that a form of an item's page posts to; then that page again.

    Args:
        resource, verb: what is done.
        to: the name of the item's page.
        wrong: that page with a form that is not valid, if the verb takes something.
    """

    @posted(verb.right, belongs_to=to)
    def view(request: HttpRequest, number: int) -> HttpResponse:
        row = _row(request, resource, number)
        form = form_of(verb.takes)(request.POST) if verb.takes else None
        if form is not None and wrong is not None and not form.is_valid():
            return wrong(request, row, form)
        try:
            done = verb.do(number, form and form.given, request.user)
        except Refused as error:
            _stop(error)
            messages.error(request, error.sentence)
        else:
            messages.success(request, done.text or verb.done.format(row=row))
        return redirect(to, number)

    view.__doc__ = verb.about
    return view


def _back(resource: Resource, to: str, number: int | None) -> str:
    """Where a form that is not sent leads: its item, or the list."""
    is_listed = number is None or to == resource.name
    return reverse(resource.name) if is_listed else reverse(to, args=(number,))


def _row(request: HttpRequest, resource: Resource, number: int | None) -> Any:
    if number is None:
        return None
    row = resource.found(visitor_of(request).scope, number)
    if row is None:
        raise Http404(f"no such item of {resource.name}")
    return row


def _stop(error: Refused) -> None:
    """Raise what is not an error of a form."""
    if error.code == RefusalCode.FORBIDDEN:
        raise PermissionDenied(getattr(error, "who", "") or str(error)) from error
    if error.code == RefusalCode.MISSING:
        raise Http404(str(error)) from error
