"""The addresses of a declared list over REST (`accounting/kit/resources`): list, item and verbs."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import JSON_ONLY, RowsView
from accounting.kit.api.schema import lists, reads, takes
from accounting.kit.resources.resource import Resource, Verb
from accounting.kit.serializers.declared import (
    body_of,
    item_serializer_of,
    serializer_of,
)

NUMBER = "<int:number>"


def views_of(resource: Resource) -> Iterator[tuple[str, type[APIView]]]:
    """Its addresses with their views."""
    name = resource.name
    yield name, _list_view(resource)
    if resource.about_item:
        yield f"{name}/{NUMBER}", _item_view(resource)
    for verb in resource.verbs:
        if verb.name:
            post = _post(resource, verb)
            yield f"{name}/{NUMBER}/{verb.name}", _view(resource, post=post)


def _list_view(resource: Resource) -> type[APIView]:
    row = serializer_of(resource.row)

    @lists(row, resource.filters)
    def get(view: RowsView, request: Request) -> Response:
        filters = view.selection(request).filters
        read: Any = partial(resource.rows, scope_of(request.user), filters)
        if resource.key is None:
            return view.listed(request, read(), row)
        return view.keyset_page(request, read, resource.key, row)

    get.__doc__ = resource.about
    methods: dict[str, Any] = {"get": get, "parameters": resource.filters}
    for verb in resource.verbs:
        if not verb.name:
            methods["post"] = _post(resource, verb)
    return _view(resource, renderer_classes=RowsView.renderer_classes, **methods)


def _item_view(resource: Resource) -> type[APIView]:
    @reads(
        item_serializer_of(resource.row), f"{resource.name.removesuffix('s')}_retrieve"
    )
    def get(view: RowsView, request: Request, number: int) -> Response:
        del view
        return _shown(resource, request, number)

    get.__doc__ = resource.about_item
    return _view(resource, get=get)


def _post(resource: Resource, verb: Verb) -> Any:
    """What a verb does over REST: once for each key; then the item as it is."""
    body: Any = verb.takes and body_of(verb.takes)

    @takes(body, item_serializer_of(resource.row), 409)
    def post(view: RowsView, request: Request, number: int | None = None) -> Response:
        del view
        person: Any = request.user
        scope = scope_of(person)
        if not verb.right.allows(scope):
            raise exceptions.PermissionDenied(f"Only {verb.right.who} can change this.")
        if number is not None and resource.found(scope, number) is None:
            raise Http404
        given = verb.takes and verb.takes(**checked(body, request))

        def make() -> Response:
            done = verb.do(number, given, person)
            code = status.HTTP_201_CREATED if done.is_new else status.HTTP_200_OK
            return _shown(resource, request, done.number, code)

        return answered_once(request, make)

    post.__doc__ = verb.about
    return post


def _shown(
    resource: Resource, request: Request, number: int, code: int = status.HTTP_200_OK
) -> Response:
    row = resource.found(scope_of(request.user), number)
    if row is None:
        raise Http404
    return Response(item_serializer_of(resource.row).one(row), status=code)


def _view(resource: Resource, **members: Any) -> type[APIView]:
    members = {"renderer_classes": JSON_ONLY, **members}
    members |= {"subject": resource.name, "right": resource.right}
    return type(f"{resource.row.__name__}View", (RowsView,), members)
