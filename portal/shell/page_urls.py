"""Addresses of the pages that join everything."""

from django.urls import path

from portal.shell import views
from portal.shell.sign_in import ChoosePassword, SignInView

urlpatterns = [
    path("", views.overview, name="overview"),
    path("sign-in", SignInView.as_view(), name="login"),
    path("welcome/<uidb64>/<token>", ChoosePassword.as_view(), name="password-link"),
    path("sign-out", views.sign_out, name="logout"),
    path("find", views.find_anything, name="find"),
    path("freshness", views.freshness, name="freshness"),
    path("data-health", views.data_health, name="data-health"),
    path("data-health/proofs", views.proofs, name="proofs"),
    path("setup", views.setup, name="setup"),
]
