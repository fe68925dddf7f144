"""Addresses of accounting's pages."""

from django.urls import path

from accounting.views import (
    account,
    attribution,
    audit,
    clusters,
    explain,
    kube_state_jobs,
    prices,
    teams,
)
from accounting.views.gpus import fleet, gpu

urlpatterns = [
    path("teams", teams.team_list, name="teams"),
    path("teams/<slug:slug>", teams.team, name="team"),
    path("teams/<slug:slug>/workloads", teams.workloads, name="team-workloads"),
    path("teams/<slug:slug>/rules", teams.team_rules, name="team-rules"),
    path("gpus", fleet.fleet, name="gpus"),
    path("gpus/<path:uuid>", gpu.gpu, name="gpu"),
    path("explain", explain.explanation, name="explain"),
    path("prices", prices.price_list, name="prices"),
    path("prices/new", prices.price_add, name="price-add"),
    path("clusters/retire", clusters.cluster_retire, name="cluster-retire"),
    path("attribution", attribution.attribution, name="attribution"),
    path("attribution/new", attribution.binding_add, name="binding-add"),
    path(
        "attribution/<int:binding_id>/end", attribution.binding_end, name="binding-end"
    ),
    path("audit", audit.audit, name="audit"),
    path(
        "data-health/kube-state-job",
        kube_state_jobs.kube_state_job,
        name="kube-state-job",
    ),
    path("account", account.account, name="account"),
    path("account/preferences", account.preferences, name="preferences"),
    path("account/password", account.password_change, name="password-change"),
    path("account/tokens", account.token_create, name="token-create"),
    path("account/tokens/revoke", account.token_revoke, name="token-revoke"),
]
