"""Addresses of the API; names and fields change only with its version."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from accounting import api

# The API has its own refusal (401); the pages' redirect to the sign-in is not for programs.
urlpatterns = [
    path(address, login_not_required(view), name=f"api-{address}")
    for address, view in (
        ("usage", api.UsageView.as_view()),
        ("ledger", api.LedgerView.as_view()),
        ("holds", api.HoldsView.as_view()),
        ("teams", api.TeamsView.as_view()),
        ("bindings", api.BindingsView.as_view()),
        ("prices", api.PricesView.as_view()),
        ("clusters", api.ClustersView.as_view()),
        ("data-issues", api.IssuesView.as_view()),
        ("schema", SpectacularAPIView.as_view()),
        ("docs", SpectacularSwaggerSplitView.as_view(url_name="api-schema")),
    )
]
