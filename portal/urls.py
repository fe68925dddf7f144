"""All addresses. `/healthz` and `/readyz` are answered before this, by `portal.probes.http`."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("scheduler_view.api_urls")),
    path("api/v1/", include("accounting.api_urls")),
    path("", include("portal.shell.page_urls")),
    path("", include("scheduler_view.urls")),
    path("", include("accounting.urls")),
]

handler400 = "portal.http.refusals.bad_request"
handler404 = "portal.http.refusals.not_found"
handler403 = "portal.shell.views.errors.refused"
handler500 = "portal.shell.views.errors.failed"
