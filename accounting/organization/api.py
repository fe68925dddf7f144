"""Teams, bindings and jobs of kube-state: lists that admins may change."""

from functools import partial
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import DATA_ISSUES
from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import (
    RowsView,
    admin_of,
)
from accounting.kit.api.schema import (
    lists,
    takes,
)
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.actions.kube_state_jobs import accept
from accounting.metering.reads.data_health.kube_state_jobs import (
    KubeStateJobRow,
    kube_state_job_rows,
)
from accounting.metering.serializers.data_health import KubeStateJobBodySerializer
from accounting.organization.actions.bindings import add_binding
from accounting.organization.actions.teams import save_team
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


class KubeStateJobsView(RowsView):
    """Scrape jobs of kube-state, and which of them count."""

    subject = "kube-state-jobs"
    right = DATA_ISSUES
    parameters = ("cluster",)

    @lists(serializer_of(KubeStateJobRow), parameters)
    def get(self, request: Request) -> Response:
        """Every job that sent kube-state-metrics, for finance and admins."""
        clusters = self.selection(request).filters.get("cluster", ())
        rows = kube_state_job_rows(scope_of(request.user), clusters)
        return self.listed(request, rows, serializer_of(KubeStateJobRow))

    @takes(KubeStateJobBodySerializer, serializer_of(KubeStateJobRow))
    def post(self, request: Request) -> Response:
        """Accept a job, or withdraw the acceptance; the affected windows are recomputed."""
        actor = admin_of(request)
        values = checked(KubeStateJobBodySerializer, request)
        return answered_once(request, lambda: self._accept(actor, values))

    def _accept(self, actor: Any, values: dict[str, Any]) -> Response:
        cluster, job = values["cluster"], values["job"]
        accept(
            cluster,
            job,
            is_accepted=values["accepted"],
            actor=actor,
            reason=values["reason"],
        )
        rows = kube_state_job_rows(scope_of(actor), [cluster.name])
        row = next(one for one in rows if one.job == job)
        return Response(serializer_of(KubeStateJobRow).one(row))
