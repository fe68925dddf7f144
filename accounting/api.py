"""The API: the same rows and fields as commands and pages, JSON or CSV."""

import base64
import binascii
import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, status
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounting import serializers
from accounting.access import Scope, scope_of
from accounting.actions.bindings import add_binding
from accounting.actions.prices import set_unit_price
from accounting.actions.teams import save_team
from accounting.models import Cluster, Team
from accounting.queries.directory import (
    binding_rows,
    cluster_rows,
    price_rows,
    team_rows,
)
from accounting.queries.fields import (
    csv_lines,
    hold_fields,
    ledger_fields,
    usage_fields,
)
from accounting.queries.holds import hold_rows
from accounting.queries.issues import issue_rows
from accounting.queries.ledger import ledger_rows
from accounting.queries.selection import FILTERS, Selection, parse_selection
from accounting.queries.usage import usage_rows

Rows = list[dict[str, Any]]
LIMIT, LARGEST = 500, 5000  # rows a page


class CsvRenderer(BaseRenderer):
    """`Accept: text/csv`: all rows of the answer, with formulas made harmless."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The rows, with a head; a problem as one line."""
        out = io.StringIO()
        rows = data.get("rows", [data])
        csv.writer(out, lineterminator="\n").writerows(csv_lines(rows))
        return out.getvalue().encode()


class HasScope(BasePermission):
    """A token never can do more than its owner; its scopes narrow it further."""

    message = "This token's scopes do not allow it."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """True for sessions, and for tokens with the scope that the view needs."""
        token: Any = request.auth
        if token is None:
            return True
        verb = "read" if request.method in ("GET", "HEAD", "OPTIONS") else "write"
        return f"{verb}:{getattr(view, 'subject', '')}" in token.scopes


_FILTERS = [
    OpenApiParameter("from", str, description="ISO time, or a billing day"),
    OpenApiParameter("to", str, description="the first moment that is not included"),
    *(OpenApiParameter(name, str, many=True) for name in FILTERS),
    OpenApiParameter("limit", int),
    OpenApiParameter("cursor", str, description="`next` of the answer before"),
]
_BY = OpenApiParameter("by", str, description="dimensions, separated by commas")


class RowsView(APIView):
    """A list of rows: filtered, paged by cursor, as JSON or CSV."""

    permission_classes = (IsAuthenticated, HasScope)
    renderer_classes = (JSONRenderer, CsvRenderer)
    content_negotiation_class = DefaultContentNegotiation
    subject = ""

    def answer(self, request: Request, rows: Rows) -> Response:
        """One page of rows; CSV gets all of them."""
        if isinstance(request.accepted_renderer, CsvRenderer):
            return Response({"rows": rows})
        limit = _limit(request.query_params.get("limit"))
        start = _offset(request.query_params.get("cursor"))
        page = rows[start : start + limit]
        more = start + limit < len(rows)
        return Response(
            {"rows": page, "next": _cursor(start + limit) if more else None}
        )

    def selection(self, request: Request) -> Selection:
        """What the query parameters ask for, within the asker's scope."""
        scope = scope_of(request.user)
        known = {"from", "to", "by", "limit", "cursor", "format", *FILTERS}
        for name in request.query_params:
            if name not in known:
                raise exceptions.ParseError(f"unknown parameter {name!r}")
        filters = {
            name: request.query_params.getlist(name)
            for name in FILTERS
            if name in request.query_params
        }
        _check_teams(scope, filters.get("team", []))
        return parse_selection(
            scope,
            request.query_params.get("from"),
            request.query_params.get("to"),
            filters,
        )

    def by(self, request: Request, default: str) -> list[str]:
        """The dimensions asked for."""
        text = request.query_params.get("by", default)
        return [name for name in text.split(",") if name]


def _check_teams(scope: Scope, slugs: Sequence[str]) -> None:
    """404 for a team that is not there or not theirs: both look the same."""
    if not slugs:
        return
    seen = {row.slug for row in team_rows(scope)} | (
        {"unmapped"} if scope.sees_all else set()
    )
    if not set(slugs) <= seen:
        raise Http404


def _limit(text: str | None) -> int:
    if text is None:
        return LIMIT
    if not text.isdigit() or not 1 <= int(text) <= LARGEST:
        raise exceptions.ParseError(f"limit is a number from 1 to {LARGEST}")
    return int(text)


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"o{offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
        return int(text.removeprefix("o"))
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise exceptions.ParseError("this cursor is not one of ours") from error


class UsageView(RowsView):
    """Held time and its money, by any dimensions."""

    subject = "usage"

    @extend_schema(
        parameters=[_BY, *_FILTERS], responses=serializers.UsageRowSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        """Rows of `report usage`."""
        rows = usage_rows(self.selection(request), self.by(request, "team"))
        return self.answer(request, [usage_fields(row) for row in rows])


class LedgerView(RowsView):
    """The seven states of every GPU and their money."""

    subject = "ledger"

    @extend_schema(
        parameters=[_BY, *_FILTERS],
        responses=serializers.LedgerRowSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """Rows of `report ledger`."""
        rows = ledger_rows(self.selection(request), self.by(request, "cluster"))
        return self.answer(request, [ledger_fields(row) for row in rows])


class HoldsView(RowsView):
    """Each hold of a pod."""

    subject = "holds"

    @extend_schema(
        parameters=_FILTERS, responses=serializers.HoldRowSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        """Rows of `report holds`."""
        rows = hold_rows(self.selection(request))
        return self.answer(request, [hold_fields(row) for row in rows])


class IssuesView(RowsView):
    """Open faults in the data."""

    subject = "data-issues"

    @extend_schema(
        parameters=_FILTERS, responses=serializers.IssueSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        """Rows of `report issues`."""
        rows = issue_rows(self.selection(request))
        return self.answer(request, [row.fields() for row in rows])


class ClustersView(RowsView):
    """Clusters and what they have now."""

    subject = "clusters"

    @extend_schema(responses=serializers.ClusterSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Every cluster."""
        rows = cluster_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])


class EditableView(RowsView):
    """Rows that admins may add to."""

    def admin(self, request: Request) -> AbstractBaseUser:
        """Who asks; refuses everyone but admins."""
        user = request.user
        if isinstance(user, AnonymousUser) or not scope_of(user).is_admin:
            raise exceptions.PermissionDenied("Only admins may change this.")
        return user


class TeamsView(EditableView):
    """Teams."""

    subject = "teams"

    @extend_schema(responses=serializers.TeamSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The teams that the asker may read."""
        rows = team_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @extend_schema(
        request=serializers.TeamSerializer, responses={201: serializers.TeamSerializer}
    )
    def post(self, request: Request) -> Response:
        """Add a team, or change the one with this slug."""
        actor = self.admin(request)
        body = serializers.TeamSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        team = save_team(
            slug=values["slug"],
            name=values["name"],
            department=values.get("department", ""),
            cost_centre=values.get("cost_centre", ""),
            actor=actor,
        )
        row = next(r for r in team_rows(scope_of(request.user)) if r.id == team.pk)
        return Response(row.fields(), status=status.HTTP_201_CREATED)


class BindingsView(EditableView):
    """Rules that give usage to teams."""

    subject = "bindings"

    @extend_schema(responses=serializers.BindingSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The rules that the asker may read, in their order."""
        rows = binding_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @extend_schema(
        request=serializers.BindingSerializer,
        responses={201: serializers.BindingSerializer},
    )
    def post(self, request: Request) -> Response:
        """Add a rule."""
        actor = self.admin(request)
        body = serializers.BindingSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        team = Team.objects.filter(slug=values["team"]).first()
        if team is None:
            raise exceptions.ParseError(f"no team has the slug {values['team']!r}")
        binding = add_binding(
            kind=values["kind"],
            label=values.get("label", ""),
            glob=values["glob"],
            team=team,
            valid_from=values["valid_from"],
            position=values.get("position"),
            actor=actor,
            reason=values["reason"],
        )
        row = next(
            r for r in binding_rows(scope_of(request.user)) if r.id == binding.pk
        )
        return Response(row.fields(), status=status.HTTP_201_CREATED)


class PricesView(EditableView):
    """Prices by GPU model."""

    subject = "prices"

    @extend_schema(responses=serializers.PriceSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Every price."""
        rows = price_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @extend_schema(
        request=serializers.PriceSerializer,
        responses={201: serializers.PriceSerializer},
    )
    def post(self, request: Request) -> Response:
        """Let a price hold from a time on; the one before it ends there."""
        actor = self.admin(request)
        body = serializers.PriceSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        name = values.get("cluster", "")
        cluster = Cluster.objects.filter(name=name).first() if name else None
        if name and cluster is None:
            raise exceptions.ParseError(f"no cluster is called {name!r}")
        price = set_unit_price(
            model=values["model"],
            profile=values.get("profile", ""),
            lifecycle=values.get("lifecycle", ""),
            cluster=cluster,
            tier=values.get("tier", ""),
            currency=values["currency"],
            rate_per_gpu_hour=values["rate_per_gpu_hour"],
            cost_per_gpu_hour=values.get("cost_per_gpu_hour"),
            valid_from=values["valid_from"],
            actor=actor,
            reason=values["reason"],
        )
        row = next(r for r in price_rows(scope_of(request.user)) if r.id == price.pk)
        return Response(row.fields(), status=status.HTTP_201_CREATED)
