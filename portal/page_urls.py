"""Addresses of the pages that join everything."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.urls import path

from portal import views

SIGN_IN_METHODS = ["get", "head", "post"]

urlpatterns = [
    path("", views.overview, name="overview"),
    path(
        "sign-in",
        login_not_required(
            LoginView.as_view(
                redirect_authenticated_user=True, http_method_names=SIGN_IN_METHODS
            )
        ),
        name="login",
    ),
    path("sign-out", views.sign_out, name="logout"),
    path("find", views.find_anything, name="find"),
    path("freshness", views.freshness, name="freshness"),
    path("data-health", views.data_health, name="data-health"),
    path("data-health/proofs", views.proofs, name="proofs"),
    path("setup", views.setup, name="setup"),
]
