"""What all lists of the API share: permissions, selection, paging and formats."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, StreamingHttpResponse
from rest_framework import exceptions, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounting.access.reads.teams import visible_teams
from accounting.access.rights import SIGNED_IN, Right
from accounting.access.scope import Scope, scope_of
from accounting.kit.api.schema import MANY
from accounting.kit.api.tokens import BearerAuthentication
from accounting.kit.pages.permissions import shared_reads
from accounting.kit.reads.dimensions import FILTERS
from accounting.kit.reads.file_names import file_name, period_part
from accounting.kit.reads.known_names import KNOWN_NAMES
from accounting.kit.reads.paging import (
    ALL_ROWS,
    Key,
    keyset_cursor,
    limit_of,
    page_of,
    seek_of,
)
from accounting.kit.reads.selection import (
    MOST_ROWS,
    Amounts,
    Selection,
    SelectionError,
    check_word,
    parse_selection,
)
from accounting.kit.serializers.csv_text import csv_lines, csv_stream
from accounting.kit.serializers.row import RowSerializer

Row = dict[str, Any]
Rows = list[Row]
PAGING = ("limit", "cursor", "format")
REPEATABLE = MANY | {"by"}


class CsvRenderer(BaseRenderer):
    """`Accept: text/csv`: all rows of the response, with formulas neutralized."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The rows, with a header line; nothing for 304, which has no content."""
        if data is None:
            return b""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(csv_lines(data["rows"]))
        return out.getvalue().encode()


JSON_ONLY: Sequence[type[BaseRenderer]] = (JSONRenderer,)


class CsvAnswer(Response):
    """A CSV response that keeps its content type if it has no rows and so no bytes."""

    @property
    def rendered_content(self) -> Any:
        """The content; the framework reads the type of an empty response from it."""
        content = super().rendered_content
        self["Content-Type"] = (
            f"{CsvRenderer.media_type}; charset={CsvRenderer.charset}"
        )
        return content


class Negotiation(DefaultContentNegotiation):
    """JSON unless CSV is requested; `format=` is a normal parameter."""

    def get_accept_list(self, request: Request) -> list[str]:
        """The media types that the client accepts; an empty header counts as a missing one."""
        found = [one.strip() for one in request.headers.get("Accept", "").split(",")]
        return [one for one in found if one] or ["*/*"]

    def filter_renderers(
        self,
        renderers: Any,
        format: str,  # noqa: A002  # the framework's name for it
    ) -> Any:
        """The renderers of a format; an unknown format is a bad request, not a missing page."""
        check_word("format", format, [renderer.format for renderer in renderers])
        return super().filter_renderers(renderers, format)


class HasScope(BasePermission):
    """A token never has more permissions than its owner; its scopes limit it further."""

    message = "This token's scopes do not allow this request."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True for sessions, and for tokens with the scope that the view requires."""
        token: Any = request.auth
        if token is None:
            return True
        verb = "read" if request.method in ("GET", "HEAD", "OPTIONS") else "write"
        return f"{verb}:{getattr(view, 'subject', '')}" in token.scopes


class LimitedView(APIView):
    """Counts every request, including rejected ones, before any other work."""

    authentication_classes = (BearerAuthentication, SessionAuthentication)
    renderer_classes: Sequence[type[BaseRenderer]] = (JSONRenderer,)
    content_negotiation_class: type[DefaultContentNegotiation] = Negotiation

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer; what a read needs several times is read once."""
        with shared_reads(request):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check authentication, rate limit, method, format and permissions, in this order."""
        try:
            self.perform_authentication(request)
        finally:  # a wrong token is counted as no token
            super().check_throttles(request)
        if not request.user.is_authenticated:
            self.check_permissions(request)  # 401 does not reveal which methods exist
        self.check_method(request)
        super().initial(request, *args, **kwargs)

    def check_throttles(self, request: Request) -> None:
        """Already done in `initial`."""

    def check_method(self, request: Request) -> None:
        """Reject a method that does not exist here, before its scopes are checked."""
        if request.method not in self.allowed_methods:
            raise exceptions.MethodNotAllowed(str(request.method))

    def get_renderers(self) -> list[BaseRenderer]:
        """Formats other than JSON are for reading: a client that writes must be able to read
        errors.

        So a write that accepts only CSV is 406 before anything is written.
        """
        request: Request | None = self.request
        if request is None or request.method in ("GET", "HEAD"):
            found: list[BaseRenderer] = super().get_renderers()
            return found
        return [JSONRenderer()]

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """204 with the header Allow."""
        del request, args, kwargs
        return Response(status=status.HTTP_204_NO_CONTENT)


class ApiView(LimitedView):
    """Requires authentication."""

    permission_classes: Sequence[type[BasePermission]] = (IsAuthenticated, HasScope)
    subject = ""
    right: Right = SIGNED_IN

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """A resource that the person may not read is 404, as on the page with the same data."""
        super().initial(request, *args, **kwargs)
        if self.right is not SIGNED_IN and not self.right.allows(
            scope_of(request.user)
        ):
            raise Http404


class NotThereView(LimitedView):
    """Every other address under `/api/v1/`: a problem document, not a page."""

    permission_classes = (IsAuthenticated,)
    schema = None

    def check_method(self, request: Request) -> None:
        """A signed-in person gets 404 for every method."""
        del request
        raise Http404


class RowsView(ApiView):
    """A list of rows: filtered, paged by cursor, as JSON or CSV."""

    renderer_classes: Sequence[type[BaseRenderer]] = (JSONRenderer, CsvRenderer)
    parameters: tuple[str, ...] = ()  # accepted, in addition to PAGING
    write_parameters: tuple[str, ...] = ()  # accepted by writes

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the person first, then reject unknown parameters."""
        super().initial(request, *args, **kwargs)
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        allowed = (*self.parameters, *PAGING) if reads else self.write_parameters
        for name, values in request.query_params.lists():
            if name not in allowed:
                raise SelectionError(
                    f"unknown parameter {name!r}; use {', '.join(allowed) or 'none'}",
                    parameter=name,
                    allowed=allowed,
                )
            if len(values) > 1 and name not in REPEATABLE:
                raise SelectionError(f"{name} is used more than once", parameter=name)

    def keyset_page(
        self,
        request: Request,
        read: Callable[..., Sequence[Any]],
        key: Callable[[Any], Key],
        row: type[RowSerializer],
    ) -> Response:
        """One page of rows that is cut by the database; CSV has all rows.

        Args:
            request: with the limit and the cursor.
            read: reads the rows of a `seek`, in an order in which `key` is unique.
            key: the position of a row in that order: integers and texts.
            row: the serializer of a row.
        """
        if isinstance(request.accepted_renderer, CsvRenderer):
            return self.listed(request, read(seek=ALL_ROWS), row)
        query, question = request.query_params, self.question(request)
        limit = limit_of(query.get("limit"))
        found = read(seek=seek_of(question, limit, query.get("cursor")))
        has_more = len(found) > limit
        return Response(
            {
                "rows": list(row.each(found[:limit])),
                "next": keyset_cursor(question, key(found[limit - 1]))
                if has_more
                else None,
            }
        )

    def listed(
        self, request: Request, rows: Iterable[Any], row: type[RowSerializer]
    ) -> Response:
        """One page of rows as their serializer writes them; CSV has all rows."""
        return self.answer(request, list(row.each(rows)))

    def answer(self, request: Request, rows: Rows) -> Response:
        """The same for rows that are already serialized."""
        if isinstance(request.accepted_renderer, CsvRenderer):
            answer = CsvAnswer({"rows": rows})
            answer["Content-Disposition"] = self.attachment(request)
            return answer
        query = request.query_params
        limit = limit_of(query.get("limit"))
        page = page_of(rows, self.question(request), limit, query.get("cursor"))
        return Response({"rows": page.rows, "next": page.next})

    def streamed(
        self, request: Request, rows: Iterable[Row], columns: Sequence[str]
    ) -> StreamingHttpResponse:
        """A CSV file of any length: the first rows are sent while others are written."""
        return StreamingHttpResponse(
            csv_stream(rows, columns),
            content_type=f"{CsvRenderer.media_type}; charset={CsvRenderer.charset}",
            headers={"Content-Disposition": self.attachment(request)},
        )

    def question(self, request: Request) -> str:
        """The query without paging parameters: a cursor is valid for one query only."""
        asked = request.query_params.lists()
        return f"{self.subject} {sorted((k, v) for k, v in asked if k not in PAGING)}"

    def attachment(self, request: Request) -> str:
        """The header with the name of the CSV file: subject, dimensions, team, period."""
        query = request.query_params
        by = "-".join(query.getlist("by"))
        file = file_name(
            "csv",
            self.subject,
            f"by-{by}" if by else "",
            *("-".join(query.getlist(name)) for name in FILTERS if name in query),
            period_part(query.get("from"), query.get("to")),
        )
        return f'attachment; filename="{file}"'

    def selection(self, request: Request) -> Selection:
        """The selection of the query parameters, within the person's scope."""
        scope = scope_of(request.user)
        query = request.query_params
        filters = {name: query.getlist(name) for name in FILTERS if name in query}
        check_names(scope, filters)
        period = query.get("from"), query.get("to")
        amounts = query.get("as", Amounts.BOOKED)
        return parse_selection(
            scope, *period, filters, most_rows=MOST_ROWS, amounts=amounts
        )

    def by(self, request: Request, default: str) -> list[str]:
        """The requested dimensions, separated by commas."""
        found = request.query_params.getlist("by", [default])
        return [name for text in found for name in text.split(",") if name]


def check_names(scope: Scope, filters: Mapping[str, Sequence[str]]) -> None:
    """Reject names that do not exist, and teams that do not exist or are not readable."""
    for word, names in KNOWN_NAMES.items():
        if filters.get(word):
            known = list(names()) if scope.sees_any else []
            for name in filters[word]:
                check_word(word, name, known)
    slugs = set(filters.get("team", ()))
    if slugs:
        seen = set(visible_teams(scope))
        if not slugs <= seen | ({"unmapped"} if scope.sees_all else set()):
            raise Http404  # the same error for both


class ConflictError(exceptions.APIException):
    """What is stored does not allow the request now.

    Attributes:
        wait: seconds until it may be allowed, for `Retry-After`; None: not by waiting.
    """

    status_code = status.HTTP_409_CONFLICT

    def __init__(self, detail: str, *, wait: int | None = None) -> None:
        super().__init__(detail)
        self.wait = wait  # the name that REST framework reads


def admin_of(request: Request) -> Any:
    """The actor of the request; rejects everyone except administrators."""
    user = request.user
    if not scope_of(user).is_admin:
        raise exceptions.PermissionDenied("Only administrators can change this.")
    return user
