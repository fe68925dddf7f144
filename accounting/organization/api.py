"""Teams and bindings, which admins may change, and the audit log."""

from functools import partial
from typing import Any

from django.http import HttpResponseBase
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import AUDIT
from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import CsvRenderer, RowsView, admin_of
from accounting.kit.api.schema import PERIOD, lists, takes
from accounting.kit.reads.selection import SelectionError, check_word
from accounting.kit.serializers.declared import serializer_of
from accounting.organization.actions.bindings import add_binding
from accounting.organization.actions.teams import save_team
from accounting.organization.reads.audit_entries import (
    AUDIT_COLUMNS,
    AuditFilter,
    AuditRow,
    audit_key,
    audit_page,
    audit_rows,
    kinds,
)
from accounting.organization.reads.directory import (
    BindingRow,
    TeamRow,
    binding_key,
    binding_rows,
    team_key,
    team_rows,
)
from accounting.organization.serializers.directory import (
    BindingBodySerializer,
    TeamBodySerializer,
)


class TeamsView(RowsView):
    """Teams."""

    subject = "teams"

    @lists(serializer_of(TeamRow))
    def get(self, request: Request) -> Response:
        """The teams that the person may read."""
        read = partial(team_rows, scope_of(request.user))
        return self.keyset_page(request, read, team_key, serializer_of(TeamRow))

    @takes(TeamBodySerializer, serializer_of(TeamRow))
    def post(self, request: Request) -> Response:
        """Add a team (201), or change the one with this slug (200)."""
        actor = admin_of(request)
        values = checked(TeamBodySerializer, request)
        return answered_once(request, lambda: self._save(actor, values))

    def _save(self, actor: Any, values: dict[str, Any]) -> Response:
        known = {row.slug: row for row in team_rows(scope_of(actor))}
        before = known.get(values["slug"])
        save_team(
            slug=values["slug"],
            name=values["name"],
            department=values.get("department", before.department if before else ""),
            cost_centre=values.get("cost_centre", before.cost_centre if before else ""),
            actor=actor,
        )
        row = next(r for r in team_rows(scope_of(actor)) if r.slug == values["slug"])
        made = status.HTTP_200_OK if before else status.HTTP_201_CREATED
        return Response(serializer_of(TeamRow).one(row), status=made)


class BindingsView(RowsView):
    """Rules that assign usage to teams."""

    subject = "bindings"

    @lists(serializer_of(BindingRow))
    def get(self, request: Request) -> Response:
        """The rules that the person may read, in their order."""
        read = partial(binding_rows, scope_of(request.user))
        return self.keyset_page(request, read, binding_key, serializer_of(BindingRow))

    @takes(BindingBodySerializer, serializer_of(BindingRow))
    def post(self, request: Request) -> Response:
        """Add a rule, in the last position unless the body sets one."""
        actor = admin_of(request)
        values = checked(BindingBodySerializer, request)
        return answered_once(request, lambda: self._add(actor, values))

    def _add(self, actor: Any, values: dict[str, Any]) -> Response:
        binding = add_binding(
            kind=values["kind"],
            label=values.get("label", ""),
            glob=values["glob"],
            team=values["team"],
            valid_from=values["valid_from"],
            position=values.get("position"),
            actor=actor,
            reason=values["reason"],
        )
        row = next(r for r in binding_rows(scope_of(actor)) if r.id == binding.pk)
        return Response(
            serializer_of(BindingRow).one(row), status=status.HTTP_201_CREATED
        )


class AuditView(RowsView):
    """Audit log."""

    subject = "audit"
    right = AUDIT
    parameters = (*PERIOD, "what", "actor", "object")

    @lists(serializer_of(AuditRow), parameters)
    def get(self, request: Request) -> HttpResponseBase:
        """List changes, newest first. For finance and administrators. Cursors do not expire."""
        audit_filter = self._filter(request)
        if isinstance(request.accepted_renderer, CsvRenderer):
            rows = serializer_of(AuditRow).each(audit_rows(audit_filter))
            return self.streamed(request, rows, AUDIT_COLUMNS)
        read = partial(audit_page, audit_filter)
        return self.keyset_page(request, read, audit_key, serializer_of(AuditRow))

    def _filter(self, request: Request) -> AuditFilter:
        query = request.query_params
        period = self.selection(request).period
        what, about = query.get("what", ""), query.get("object", "")
        if what:
            check_word("what", what, kinds())
        if about and not (about.isascii() and about.isdigit() and len(about) < 18):
            raise SelectionError("object must be a number", parameter="object")
        return AuditFilter(
            what=what,
            actor=query.get("actor", ""),
            object_id=int(about) if about else None,
            start=period.start if period else None,
            end=period.end if period else None,
        )
