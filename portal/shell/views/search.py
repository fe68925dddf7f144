"""Search: teams, workloads, GPUs and pages by name."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.queries.search import Hit, find
from accounting.web.permissions import signed_in, visitor_of
from portal.shell.navigation import NAVIGATION


@signed_in
def find_anything(request: HttpRequest) -> HttpResponse:
    """Pages, teams, workloads and GPUs by a part of their name."""
    words = request.GET.get("q", "").strip()
    visitor = visitor_of(request)
    pages = [
        (item.label, reverse(item.route))
        for item in NAVIGATION
        if item.is_for(visitor.scope) and words.lower() in item.label.lower()
    ]
    hits = [(hit, _hit_url(hit)) for hit in find(visitor.scope, words)]
    context = {"words": words, "pages": pages, "hits": hits}
    is_fragment = request.headers.get("HX-Request") == "true"
    name = "portal/_found.html" if is_fragment else "portal/find.html"
    return render(request, name, context)


def _hit_url(hit: Hit) -> str:
    if hit.kind == "gpu":
        return reverse("gpu", args=[hit.key])
    if hit.kind == "team":
        return reverse("team", args=[hit.key])
    return f"{reverse('team-workloads', args=[hit.team])}?{urlencode({'q': hit.name})}"
