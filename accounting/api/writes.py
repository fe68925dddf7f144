"""Teams, bindings, prices and jobs of kube-state: lists that admins may change."""

from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounting import serializers
from accounting.access import scope_of
from accounting.actions.bindings import add_binding
from accounting.actions.kube_state_jobs import accept
from accounting.actions.prices import set_unit_price
from accounting.actions.teams import save_team
from accounting.api.rows import RowsView, admin_of
from accounting.api.schema import lists, takes
from accounting.queries.data_health.kube_state_jobs import kube_state_job_rows
from accounting.queries.teams.directory import binding_rows, price_rows, team_rows
from accounting.rights import DATA_ISSUES


def checked(body: type[Any], request: Request) -> dict[str, Any]:
    """The body of a request, as its serializer lets it pass."""
    found = body(data=request.data)
    found.is_valid(raise_exception=True)
    values: dict[str, Any] = found.validated_data
    return values


class TeamsView(RowsView):
    """Teams."""

    subject = "teams"

    @lists(serializers.TeamSerializer)
    def get(self, request: Request) -> Response:
        """The teams that the asker may read."""
        rows = team_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @takes(serializers.TeamBodySerializer, serializers.TeamSerializer)
    def post(self, request: Request) -> Response:
        """Add a team (201), or change the one with this slug (200)."""
        actor = admin_of(request)
        values = checked(serializers.TeamBodySerializer, request)
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
        return Response(row.fields(), status=made)


class BindingsView(RowsView):
    """Rules that give usage to teams."""

    subject = "bindings"

    @lists(serializers.BindingSerializer)
    def get(self, request: Request) -> Response:
        """The rules that the asker may read, in their order."""
        rows = binding_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @takes(serializers.BindingBodySerializer, serializers.BindingSerializer)
    def post(self, request: Request) -> Response:
        """Add a rule, the last in order unless it says otherwise."""
        actor = admin_of(request)
        values = checked(serializers.BindingBodySerializer, request)
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
        return Response(row.fields(), status=status.HTTP_201_CREATED)


class PricesView(RowsView):
    """Prices by GPU model."""

    subject = "prices"

    @lists(serializers.PriceSerializer)
    def get(self, request: Request) -> Response:
        """Every price."""
        rows = price_rows(scope_of(request.user))
        return self.answer(request, [row.fields() for row in rows])

    @takes(serializers.PriceBodySerializer, serializers.PriceSerializer)
    def post(self, request: Request) -> Response:
        """Let a price hold from a time on; the one before it ends there."""
        actor = admin_of(request)
        values = checked(serializers.PriceBodySerializer, request)
        price = set_unit_price(
            model=values["model"],
            profile=values.get("profile", ""),
            lifecycle=values.get("lifecycle", ""),
            cluster=values.get("cluster"),
            tier=values.get("tier", ""),
            currency=values["currency"],
            rate_per_gpu_hour=values["rate_per_gpu_hour"],
            cost_per_gpu_hour=values.get("cost_per_gpu_hour"),
            source_note=values.get("source_note", ""),
            valid_from=values["valid_from"],
            actor=actor,
            reason=values["reason"],
        )
        row = next(r for r in price_rows(scope_of(actor)) if r.id == price.pk)
        return Response(row.fields(), status=status.HTTP_201_CREATED)


class KubeStateJobsView(RowsView):
    """Scrape jobs of kube-state, and which of them count."""

    subject = "kube-state-jobs"
    right = DATA_ISSUES
    parameters = ("cluster",)

    @lists(serializers.KubeStateJobSerializer, parameters)
    def get(self, request: Request) -> Response:
        """Every job that sent kube-state-metrics, for finance and admins."""
        clusters = self.selection(request).filters.get("cluster", ())
        rows = kube_state_job_rows(scope_of(request.user), clusters)
        return self.answer(request, [row.fields() for row in rows])

    @takes(serializers.KubeStateJobBodySerializer, serializers.KubeStateJobSerializer)
    def post(self, request: Request) -> Response:
        """Accept a job, or take that back; the windows it affects are computed again."""
        actor = admin_of(request)
        values = checked(serializers.KubeStateJobBodySerializer, request)
        cluster, job = values["cluster"], values["job"]
        accept(
            cluster,
            job,
            is_accepted=values["accepted"],
            actor=actor,
            reason=values["reason"],
        )
        rows = kube_state_job_rows(scope_of(actor), [cluster.name])
        return Response(next(row.fields() for row in rows if row.job == job))
