"""Scrape jobs of kube-state-metrics as a list; admins accept them."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import DATA_ISSUES
from accounting.access.scope import scope_of
from accounting.kit.api.bodies import checked
from accounting.kit.api.once import answered_once
from accounting.kit.api.rows import RowsView, admin_of
from accounting.kit.api.schema import lists, takes
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.actions.kube_state_jobs import accept
from accounting.metering.reads.data_health.kube_state_jobs import (
    KubeStateJobRow,
    kube_state_job_rows,
)
from accounting.metering.serializers.data_health import KubeStateJobBodySerializer


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
