"""Search: pages, teams, workloads, work, GPUs, nodes, change sets, entries and people."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounting.access.rights import (
    ADMINISTRATION,
    BILLS,
    PERIODS,
    PREPARE_PRICES,
)
from accounting.access.scope import Scope
from accounting.explain.reads.search import Hit, find
from accounting.explain.reads.search_entries import find_entry, find_people
from accounting.kit.family_address import family_url
from accounting.kit.pages.fragments import is_fragment
from accounting.kit.pages.permissions import signed_in, visitor_of
from accounting.kit.run_address import run_url
from portal.shell.navigation import ALERTS, INBOX, NAVIGATION, Tab
from scheduler_view.queues.reads.search import find_change, find_changes, find_work

_ICONS = {
    "team": "users",
    "gpu": "cpu",
    "model": "cpu",
    "node": "cpu",
    "unit": "clock",
    "change": "file-diff",
    "entry": "table",
    "person": "users",
}
_OTHERS = (  # pages without a tab in the navigation
    INBOX,
    Tab("quota-file", "Quotas from a file", allows=ADMINISTRATION.allows),
    Tab("price-import", "Import prices", allows=PREPARE_PRICES.allows),
    Tab("entry-add", "New credit or charge", allows=PERIODS.allows),
    Tab("bill-import", "Import a bill", allows=BILLS.allows),
    Tab("binding-add", "New attribution rule", allows=ADMINISTRATION.allows),
)
_ALSO = {  # other words that people type for a page, by route
    "overview": "home dashboard",
    "teams": "departments spend",
    "gpus": "cards hardware fleet",
    "pools": "free capacity queues depth",
    "quotas": "limits resourcequota",
    "queues": "pending queues work jobs kueue",
    "idle-holders": "unused notebook owner ask",
    "alerts": "notifications warnings",
    "alert-rules": "thresholds alarms",
    "waste": "idle savings",
    "prices": "rates price list",
    "data-health": "exporters coverage issues metrics",
    "charges": "costs spend lines",
    "months": "statements close period",
    "contests": "dispute objection",
    "bills": "invoice provider",
    "exports": "csv xlsx parquet focus download",
    "anomalies": "alerts spikes",
    "changes": "change sets approve requests",
    "tiers": "priorityclass priorities",
    "what-if": "simulation",
    "attribution": "namespaces rules mapping unmapped",
    "people": "persons add colleague invite role password link",
    "team-directory": "departments add rename team",
    "audit": "history who changed",
    "setup": "clusters sources add team configuration",
    "recommendations": "give back right size",
    "limits": "everything that limits limitrange clusterqueue",
    "api-docs": "rest openapi reference",
    "inbox": "inbox to do history",
    "account": "api tokens password sessions preferences time zone",
}


@signed_in
def find_anything(request: HttpRequest) -> HttpResponse:
    """What the person may read whose name contains the words."""
    words = request.GET.get("q", "").strip()
    visitor = visitor_of(request)
    scope = visitor.scope
    hits = [
        *find_change(scope, words),
        *find_entry(scope, words),
        *find_work(scope, visitor.now, words),
        *find(scope, words),
        *find_changes(scope, visitor.now, words),
        *find_people(scope, words),
    ]
    context = {
        "words": words,
        "pages": list(_pages(scope, words.lower())),
        "hits": [(hit, _hit_url(hit), _ICONS.get(hit.kind, "layers")) for hit in hits],
    }
    name = "portal/_found.html" if is_fragment(request) else "portal/find.html"
    return render(request, name, context)


def _pages(scope: Scope, words: str) -> Iterator[tuple[str, str, str]]:
    """Label, entry and address of each page with all of the words; without words all pages."""
    items = (*NAVIGATION, ALERTS)
    tabs = [(item.label, tab) for item in items for tab in item.tabs]
    for above, tab in (*tabs, *(("", one) for one in _OTHERS)):
        hint = above if above != tab.label else ""
        text = f"{tab.label} {hint} {_ALSO.get(tab.route, '')}".lower()
        if tab.allows(scope) and all(word in text for word in words.split()):
            yield tab.label, hint, tab.url


def _hit_url(hit: Hit) -> str:
    routes = {"gpu": "gpu", "team": "team", "unit": "queue-unit", "change": "change"}
    if hit.kind in routes:
        return reverse(routes[hit.kind], args=[hit.key])
    if hit.kind in ("node", "model"):
        return f"{reverse('gpus')}?{urlencode({'q': hit.key})}"
    if hit.kind == "entry":
        at = [hit.team, hit.key]
        return reverse("statement", args=at) if hit.key else reverse("months")
    if hit.kind == "person":
        if hit.key:
            return reverse("person", args=[hit.key])
        return f"{reverse('team-rules', args=[hit.team])}#members-title"
    return _work_url(hit)


def _work_url(hit: Hit) -> str:
    """The page of a family or a run, or the list of its team in which the work is found."""
    kind, _, name = hit.key.partition("/")
    url = {
        "family": lambda: family_url(hit.team, hit.more, hit.key),
        "workload": lambda: run_url(hit.team, hit.more, kind, name),
    }.get(hit.kind, str)()
    if url:
        return url
    words = name if hit.kind == "workload" else hit.key
    by = {} if hit.kind == "family" else {"by": "run"}
    query = urlencode({**by, "q": words})
    return f"{reverse('team-workloads', args=[hit.team])}?{query}"
