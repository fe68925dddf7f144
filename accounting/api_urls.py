"""Addresses of the API; names and fields change only with its version."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path

from accounting.bills import api as bills
from accounting.budgets import api as anomalies
from accounting.explain import api as explanation
from accounting.exports import api as exports
from accounting.fleet import api as fleet
from accounting.health.api import IssuesView
from accounting.kit.api import documents, index
from accounting.kit.api.declared import views_of
from accounting.kit.api.rows import NotThereView
from accounting.metering import api as kube_state
from accounting.months.api import (
    adjustments,
    charges,
    checks,
    closing,
    contests,
    methods,
    periods,
    statements,
)
from accounting.organization import api as organization
from accounting.prices.api import price_import, price_lists, prices
from accounting.resources import RESOURCES
from accounting.usage import api as usage

# The API has its own rejection (401); the redirect of pages to the sign-in is not for programs.
urlpatterns = [
    path(address, login_not_required(view), name=index.name_of(address))
    for address, view in (
        ("", index.IndexView.as_view()),
        ("usage", usage.UsageView.as_view()),
        ("explanation", explanation.ExplanationView.as_view()),
        ("ledger", usage.LedgerView.as_view()),
        ("holds", usage.HoldsView.as_view()),
        ("gpus", fleet.GpusView.as_view()),
        ("gpu-holders", fleet.GpuHoldersView.as_view()),
        ("gpu-steps", fleet.GpuStepsView.as_view()),
        ("teams", organization.TeamsView.as_view()),
        ("bindings", organization.BindingsView.as_view()),
        ("prices", prices.PricesView.as_view()),
        ("prices/preview", prices.PricePreviewView.as_view()),
        ("prices/import", price_import.PriceImportView.as_view()),
        ("price-lists/<int:number>", price_lists.PriceListView.as_view()),
        ("kube-state-jobs", kube_state.KubeStateJobsView.as_view()),
        ("bills", bills.BillsView.as_view()),
        ("bills/<int:number>", bills.BillView.as_view()),
        ("bills/<int:number>/variance", bills.BillVarianceView.as_view()),
        ("bills/<int:number>/unmatched", bills.BillUnmatchedView.as_view()),
        ("bills/<int:number>/final", bills.BillFinalView.as_view()),
        ("anomalies", anomalies.AnomaliesView.as_view()),
        ("periods", periods.PeriodsView.as_view()),
        ("periods/<slug:period>", periods.PeriodView.as_view()),
        ("periods/<slug:period>/checks", checks.PeriodChecksView.as_view()),
        ("periods/<slug:period>/bill-variance", bills.ClusterVarianceView.as_view()),
        ("periods/<slug:period>/methods", methods.PeriodMethodsView.as_view()),
        ("periods/<slug:period>/check", checks.PeriodCheckView.as_view()),
        (
            "periods/<slug:period>/statements",
            statements.PeriodStatementsView.as_view(),
        ),
        ("periods/<slug:period>/close", closing.PeriodCloseView.as_view()),
        ("periods/<slug:period>/overrides", closing.OverridesView.as_view()),
        ("overrides/<int:number>/confirm", closing.OverrideConfirmView.as_view()),
        ("periods/<slug:period>/reopen", closing.ReopenView.as_view()),
        (
            "periods/<slug:period>/reopen/<int:number>/confirm",
            closing.ReopenConfirmView.as_view(),
        ),
        ("adjustments", adjustments.AdjustmentsView.as_view()),
        ("exports", exports.ExportsView.as_view()),
        ("exports/<int:number>", exports.ExportView.as_view()),
        ("exports/<int:number>/file", exports.ExportFileView.as_view()),
        ("statements", statements.StatementsView.as_view()),
        (
            "statements/<slug:team>/<slug:period>",
            statements.StatementView.as_view(),
        ),
        (
            "statements/<slug:team>/<slug:period>/contests",
            contests.StatementContestsView.as_view(),
        ),
        ("charges", charges.ChargesView.as_view()),
        ("corrections", charges.CorrectionsView.as_view()),
        ("audit", organization.AuditView.as_view()),
        ("data-issues", IssuesView.as_view()),
        ("schema", documents.SchemaView.as_view()),
        ("docs", documents.DocsView.as_view()),
    )
]
urlpatterns += [
    path(address, login_not_required(view.as_view()), name=index.name_of(address))
    for resource in RESOURCES
    for address, view in views_of(resource)
]
urlpatterns += [
    path("<path:rest>", login_not_required(NotThereView.as_view())),
]
