"""Addresses of the pages that join both apps."""

from django.urls import path

from portal.shell.sign_in import ChoosePassword, SignInView, sign_out
from portal.shell.views.data_health import data_health, freshness, proofs
from portal.shell.views.overview import overview
from portal.shell.views.overview_cards import overview_changes, overview_idle
from portal.shell.views.search import find_anything
from portal.shell.views.setup import setup
from portal.weekly.pages import weekly_preview, weekly_preview_mail

urlpatterns = [
    path("", overview, name="overview"),
    path("overview/changes", overview_changes, name="overview-changes"),
    path("overview/idle", overview_idle, name="overview-idle"),
    path("sign-in", SignInView.as_view(), name="login"),
    path("welcome/<uidb64>/<token>", ChoosePassword.as_view(), name="password-link"),
    path("sign-out", sign_out, name="logout"),
    path("find", find_anything, name="find"),
    path("freshness", freshness, name="freshness"),
    path("data-health", data_health, name="data-health"),
    path("data-health/proofs", proofs, name="proofs"),
    path("setup", setup, name="setup"),
    path("account/weekly/<slug:slug>", weekly_preview, name="weekly-preview"),
    path(
        "account/weekly/<slug:slug>/mail",
        weekly_preview_mail,
        name="weekly-preview-mail",
    ),
]
