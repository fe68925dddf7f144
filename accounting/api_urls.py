"""Addresses of the API; names and fields change only with its version."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from accounting.api import documents, reads, writes
from accounting.api.rows import NotThereView

# The API has its own rejection (401); the redirect of pages to the sign-in is not for programs.
urlpatterns = [
    path(address, login_not_required(view), name=f"api-{address}")
    for address, view in (
        ("usage", reads.UsageView.as_view()),
        ("ledger", reads.LedgerView.as_view()),
        ("holds", reads.HoldsView.as_view()),
        ("gpus", reads.GpusView.as_view()),
        ("gpu-holders", reads.GpuHoldersView.as_view()),
        ("gpu-steps", reads.GpuStepsView.as_view()),
        ("teams", writes.TeamsView.as_view()),
        ("bindings", writes.BindingsView.as_view()),
        ("prices", writes.PricesView.as_view()),
        ("kube-state-jobs", writes.KubeStateJobsView.as_view()),
        ("clusters", reads.ClustersView.as_view()),
        ("audit", reads.AuditView.as_view()),
        ("data-issues", reads.IssuesView.as_view()),
        ("schema", documents.SchemaView.as_view()),
        ("docs", documents.DocsView.as_view()),
    )
]
urlpatterns += [
    path("", login_not_required(NotThereView.as_view())),
    path("<path:rest>", login_not_required(NotThereView.as_view())),
]
