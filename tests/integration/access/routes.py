"""Every route of the product: an address of it, its methods, and what each person gets.

`find_routes` reads the routes from Django's resolver, so a new one without a line here fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

PEOPLE = ("omar", "mia", "luis", "fin", "ana")
"""No team, viewer, lead of vision, finance, admin: the columns of the table."""

Codes = tuple[int, int, int, int, int]

ALL: Codes = (200, 200, 200, 200, 200)
FOUND: Codes = (302, 302, 302, 302, 302)
MISSING: Codes = (404, 404, 404, 404, 404)
TEAM: Codes = (404, 200, 200, 200, 200)  # of vision: not for people without a team
WHOLE: Codes = (403, 403, 403, 200, 200)  # pages for finance and administrators
ADMIN: Codes = (403, 403, 403, 403, 200)
LEAD_PAGES: Codes = (403, 403, 200, 200, 200)  # pages for leads and finance
FINANCE: Codes = (403, 403, 403, 200, 200)
FINANCE_POST: Codes = (403, 403, 403, 302, 302)  # back to the page, with what was done
NOBODY: Codes = (403, 403, 403, 403, 404)  # an administrator's page of no person
NO_BUDGET: Codes = (403, 403, 403, 404, 404)  # a form of finance
NO_STATEMENT: Codes = (403, 403, 404, 404, 404)  # of leads and finance: not there
LEADS: Codes = (404, 404, 200, 200, 200)  # lists for leads and finance
MONEY_400: Codes = (404, 404, 404, 400, 400)  # of finance: an empty body is wrong
MONEY_428: Codes = (404, 404, 404, 428, 428)  # of finance: If-Match is missing
ROWS: Codes = (404, 404, 404, 200, 200)  # lists for finance and administrators
ONLY_ADMIN: Codes = (404, 404, 404, 404, 200)  # lists for administrators


@dataclass(frozen=True)
class Route:
    """One route. A method that is None is answered with 405.

    Attributes:
        at: an address of it; `{binding}` stands for a rule that is there.
        is_open: for people who are not signed in, too.
        options: over REST, where it is not what a GET without an object gets.
    """

    at: str
    get: Codes | None = None
    post: Codes | None = None
    put: Codes | None = None
    patch: Codes | None = None
    is_open: bool = False
    options: Codes | None = None

    @property
    def methods(self) -> dict[str, Codes]:
        """Those that it has."""
        found = {m: getattr(self, m.lower()) for m in ("GET", "POST", "PUT", "PATCH")}
        return {method: codes for method, codes in found.items() if codes}


def posted(at: str, codes: Codes) -> Route:
    """An address that a form is posted to: opened, it leads to the page of the form."""
    return Route(at, FOUND, codes)


def write(at: str, codes: Codes) -> Route:
    """A step of a change set over REST."""
    return Route(at, post=codes)


GPU = "GPU-5a1e0001-0000-7c3d"
API = "/api/v1/"
PAGES: dict[str, Route] = {
    "": Route("/", (200, 200, 302, 200, 200)),
    "overview/changes": Route("/overview/changes", ALL),
    "overview/idle": Route("/overview/idle", ALL),
    "explore": Route("/explore", ALL),
    "explore/views": Route("/explore/views", ALL),
    "explore/views/new": Route("/explore/views/new", ALL, (422, 422, 422, 422, 422)),
    "explore/views/<int:number>/rename": Route(
        "/explore/views/99999/rename", MISSING, MISSING
    ),
    "explore/views/<int:number>/delete": posted("/explore/views/99999/delete", MISSING),
    "sign-in": Route("/sign-in", FOUND, FOUND, is_open=True),
    "welcome/<uidb64>/<token>": Route(
        "/welcome/MQ/used-link", MISSING, MISSING, is_open=True
    ),
    "sign-out": posted("/sign-out", FOUND),
    "find": Route("/find?q=re", ALL),
    "freshness": Route("/freshness", ALL),
    "data-health": Route("/data-health", ALL),
    "data-health/kube-state-job": Route(
        "/data-health/kube-state-job?cluster=north&job=unknown",
        (403, 403, 403, 403, 404),
        (403, 403, 403, 403, 404),
    ),
    "data-health/proofs": Route("/data-health/proofs", WHOLE),
    "clusters/retire": Route(
        "/clusters/retire?cluster=north", ADMIN, (403, 403, 403, 403, 422)
    ),
    "setup": Route("/setup", ADMIN),
    "quotas": Route("/quotas", ALL),
    "quotas/pending": Route("/quotas/pending", ALL),
    "quotas/yaml": Route("/quotas/yaml?cluster=north&team=vision", TEAM),
    "quotas/change": posted("/quotas/change", (403, 403, 403, 403, 404)),
    "quotas/settle": posted("/quotas/settle", (403, 403, 403, 403, 404)),
    "quotas/file": Route("/quotas/file", ADMIN, (403, 403, 403, 403, 422)),
    "quotas/limits": Route("/quotas/limits", ALL),
    "quotas/limits/adopt": posted("/quotas/limits/adopt", (403, 403, 403, 403, 404)),
    "quotas/settle-queue": posted("/quotas/settle-queue", (403, 403, 403, 403, 404)),
    "gpus/pools": Route("/gpus/pools", ALL),
    "queues": Route("/queues", ALL),
    "queues/<int:number>": Route("/queues/99999", MISSING),
    "queues/<int:number>/quota": posted("/queues/99999/quota", MISSING),
    "queues/<int:number>/draft": posted(
        "/queues/99999/draft", (403, 403, 403, 403, 404)
    ),
    "changes": Route("/changes", ALL),
    "changes/<int:number>": Route("/changes/99999", MISSING),
    "changes/<int:number>/<slug:verb>": posted("/changes/99999/plan", MISSING),
    "inbox": Route("/inbox", LEAD_PAGES),
    "alerts": Route("/alerts", LEAD_PAGES),
    "alerts/archived": Route("/alerts/archived", LEAD_PAGES),
    "alerts/resolved": Route("/alerts/resolved", LEAD_PAGES),
    "alerts/rules": Route("/alerts/rules", LEAD_PAGES),
    "alerts/rules/<slug:name>": Route(
        "/alerts/rules/idle?team=vision",
        (403, 403, 200, 403, 200),
        (403, 403, 422, 403, 422),
    ),
    "alerts/<int:number>/archive": Route(
        "/alerts/99999/archive", NO_STATEMENT, NO_STATEMENT
    ),
    "alerts/<int:number>/restore": Route(
        "/alerts/99999/restore", NO_STATEMENT, NO_STATEMENT
    ),
    "idle": Route("/idle", LEAD_PAGES),
    "idle/<int:number>/ask": Route("/idle/99999/ask", NO_STATEMENT, NO_STATEMENT),
    "idle/<int:number>/ignore": Route("/idle/99999/ignore", NO_STATEMENT, NO_STATEMENT),
    "waste": Route("/waste", LEAD_PAGES),
    "waste/apart": Route("/waste/apart", LEAD_PAGES),
    "recommendations": Route("/recommendations", LEAD_PAGES),
    "recommendations/decide": posted(
        "/recommendations/decide", (403, 403, 404, 404, 404)
    ),
    "recommendations/ask": Route(
        "/recommendations/ask?about=0", NO_STATEMENT, NO_STATEMENT
    ),
    "recommendations/draft": posted(
        "/recommendations/draft", (403, 403, 403, 403, 404)
    ),
    "tiers": Route("/tiers", ALL),
    "tiers/change": Route(
        "/tiers/change?cluster=north", ADMIN, (403, 403, 403, 403, 404)
    ),
    "teams/<slug:slug>/quota": Route(
        "/teams/vision/quota", TEAM, (404, 403, 422, 403, 403)
    ),
    "teams": Route("/teams", ALL),
    "teams/<slug:slug>": Route("/teams/vision", TEAM),
    "teams/<slug:slug>/idle": Route("/teams/vision/idle", TEAM),
    "teams/<slug:slug>/week": Route("/teams/vision/week", TEAM),
    "teams/<slug:slug>/give-back": Route("/teams/vision/give-back", TEAM),
    "teams/<slug:slug>/workloads": Route("/teams/vision/workloads", TEAM),
    "teams/<slug:slug>/families/<str:namespace>/<path:family>": Route(
        "/teams/vision/families/vision-prod/sweep-resnet", TEAM
    ),
    "teams/<slug:slug>/runs/<str:namespace>/<str:kind>/<path:name>": Route(
        "/teams/vision/runs/vision-prod/Job/sweep-resnet", TEAM
    ),
    "teams/<slug:slug>/rules": Route("/teams/vision/rules", TEAM),
    "gpus": Route("/gpus", ALL),
    "gpus/table": Route("/gpus/table", ALL),
    "gpus/<path:uuid>": Route(f"/gpus/{GPU}", ROWS),
    "explain": Route("/explain?what=charge", ALL),
    "prices": Route("/prices", ALL),
    "prices/import": Route("/prices/import", FINANCE, (403, 403, 403, 422, 422)),
    "prices/drafts/<int:number>": Route(
        "/prices/drafts/99999", (403, 403, 403, 404, 404), (403, 403, 403, 404, 404)
    ),
    "prices/lists/new": Route("/prices/lists/new", ADMIN, (403, 403, 403, 403, 422)),
    "prices/lists/<int:number>": Route(
        "/prices/lists/99999", (403, 403, 403, 403, 404), (403, 403, 403, 403, 404)
    ),
    "prices/new": Route("/prices/new", ADMIN, (403, 403, 403, 403, 422)),
    "bills": Route("/bills", ROWS),
    "bills/new": Route("/bills/new", ROWS, (404, 404, 404, 422, 422)),
    "bills/months/<slug:period>": Route("/bills/months/2026-11", ROWS),
    "bills/<int:number>": Route("/bills/99999", MISSING),
    "bills/<int:number>/match": posted("/bills/99999/match", MISSING),
    "bills/<int:number>/final": posted("/bills/99999/final", MISSING),
    "conversion-rates": Route("/conversion-rates", ALL),
    "conversion-rates/new": Route(
        "/conversion-rates/new", FINANCE, (403, 403, 403, 422, 422)
    ),
    "budgets": Route("/budgets", LEAD_PAGES),
    "budgets/new": Route("/budgets/new", FINANCE, (403, 403, 403, 422, 422)),
    "budgets/<int:number>": Route("/budgets/99999", (403, 403, 404, 404, 404)),
    "budgets/<int:number>/change": Route("/budgets/99999/change", NO_BUDGET, NO_BUDGET),
    "budgets/<int:number>/end": Route("/budgets/99999/end", NO_BUDGET, NO_BUDGET),
    "anomalies": Route("/anomalies", LEAD_PAGES),
    "charges": Route("/charges", LEAD_PAGES),
    "months": Route("/months", FINANCE),
    "months/<slug:period>": Route("/months/2019-01", NO_BUDGET),
    "months/<slug:period>/book": posted("/months/2019-01/book", FINANCE_POST),
    "months/<slug:period>/close": posted("/months/2019-01/close", FINANCE_POST),
    "months/<slug:period>/override": posted("/months/2019-01/override", NO_BUDGET),
    "months/<slug:period>/confirm": posted("/months/2019-01/confirm", NO_BUDGET),
    "months/<slug:period>/reopen": posted("/months/2019-01/reopen", NO_BUDGET),
    "months/<slug:period>/method": posted("/months/2019-01/method", NO_BUDGET),
    "months/<slug:period>/methods": Route("/months/2019-01/methods", NO_BUDGET),
    "months/<slug:period>/files/<slug:what>": Route(
        "/months/2019-01/files/focus?team=vision", (403, 403, 400, 400, 400)
    ),
    "exports": Route("/exports", LEAD_PAGES, (403, 403, 422, 422, 422)),
    "exports/<int:number>/file": Route(
        "/exports/99999/file", (403, 403, 404, 404, 404)
    ),
    "exports/<int:number>/cancel": posted(
        "/exports/99999/cancel", (403, 403, 404, 404, 404)
    ),
    "exports/<int:number>/repeat": posted(
        "/exports/99999/repeat", (403, 403, 404, 404, 404)
    ),
    "entries/new": Route("/entries/new", FINANCE, (403, 403, 403, 422, 422)),
    "statements/<slug:team>/<slug:period>": Route(
        "/statements/vision/2019-01", (403, 403, 404, 404, 404)
    ),
    "statements/<slug:team>/<slug:period>/contest": Route(
        "/statements/vision/2019-01/contest", NO_STATEMENT, NO_STATEMENT
    ),
    "before-after": Route("/before-after", FINANCE),
    "what-if": Route("/what-if", ADMIN, (403, 403, 403, 403, 422)),
    "what-if/<int:number>/cancel": posted(
        "/what-if/99999/cancel", (403, 403, 403, 403, 404)
    ),
    "contests": Route("/contests", LEAD_PAGES),
    "contests/<int:number>": Route("/contests/99999", NO_STATEMENT),
    "contests/<int:number>/answer": posted("/contests/99999/answer", NO_STATEMENT),
    "contests/<int:number>/accept": posted("/contests/99999/accept", NO_STATEMENT),
    "contests/<int:number>/reopen": posted("/contests/99999/reopen", NO_STATEMENT),
    "contests/<int:number>/withdraw": posted("/contests/99999/withdraw", NO_STATEMENT),
    "attribution": Route("/attribution", WHOLE),
    "attribution/new": Route("/attribution/new", ADMIN, (403, 403, 403, 403, 422)),
    "attribution/<int:binding_id>/end": Route(
        "/attribution/{binding}/end", ADMIN, (403, 403, 403, 403, 422)
    ),
    "audit": Route("/audit", WHOLE),
    "people": Route("/people", ADMIN),
    "people/new": Route("/people/new", ADMIN, (403, 403, 403, 403, 422)),
    "people/teams": Route("/people/teams", ADMIN),
    "people/teams/new": Route("/people/teams/new", ADMIN, (403, 403, 403, 403, 422)),
    "people/teams/<slug:slug>": Route(
        "/people/teams/vision", ADMIN, (403, 403, 403, 403, 422)
    ),
    "people/<int:number>": Route("/people/0", NOBODY),
    "people/<int:number>/role": posted("/people/0/role", NOBODY),
    "people/<int:number>/team": posted("/people/0/team", NOBODY),
    "people/<int:number>/active": posted("/people/0/active", NOBODY),
    "people/<int:number>/link": posted("/people/0/link", NOBODY),
    "people/<int:number>/sign-out": posted("/people/0/sign-out", NOBODY),
    "people/<int:number>/token": posted("/people/0/token", NOBODY),
    "account": Route("/account", ALL),
    "account/password": posted("/account/password", (422, 422, 422, 422, 422)),
    "account/preferences": posted("/account/preferences", (204, 204, 204, 204, 204)),
    "account/notifications": Route("/account/notifications", ALL),
    "account/notifications/choices": posted("/account/notifications/choices", FOUND),
    "account/notifications/<int:number>": Route(
        "/account/notifications/99999", MISSING
    ),
    "account/notifications/<int:number>/mail": Route(
        "/account/notifications/99999/mail", MISSING
    ),
    "account/notifications/<int:number>/send": posted(
        "/account/notifications/99999/send", NOBODY
    ),
    "account/weekly/<slug:slug>": Route("/account/weekly/vision", LEAD_PAGES),
    "account/weekly/<slug:slug>/mail": Route("/account/weekly/vision/mail", LEAD_PAGES),
    "account/tokens": posted("/account/tokens", (422, 422, 422, 422, 422)),
    "account/tokens/revoke": posted("/account/tokens/revoke", FOUND),
}
REST: dict[str, Route] = {
    "quotas": Route(f"{API}quotas", ALL),
    "limits": Route(f"{API}limits", ALL),
    "tiers": Route(f"{API}tiers", ALL),
    "queues": Route(f"{API}queues", ROWS),
    "queue-values": Route(f"{API}queue-values", ROWS),
    "waiting": Route(f"{API}waiting", ALL),
    "queued-units": Route(f"{API}queued-units", ALL),
    "node-notes": Route(f"{API}node-notes", ALL),
    "resource-pools": Route(f"{API}resource-pools", ALL),
    "wait-times": Route(f"{API}wait-times", ALL),
    "preemptions": Route(f"{API}preemptions", ALL),
    "inbox": Route(f"{API}inbox", LEADS),
    "alerts": Route(f"{API}alerts", LEADS),
    "alerts/<int:number>": Route(f"{API}alerts/99999", MISSING, options=LEADS),
    "alerts/<int:number>/archive": Route(
        f"{API}alerts/99999/archive", post=MISSING, options=LEADS
    ),
    "alerts/<int:number>/restore": Route(
        f"{API}alerts/99999/restore", post=MISSING, options=LEADS
    ),
    "idle-holders": Route(f"{API}idle-holders", LEADS),
    "idle-holders/<int:number>": Route(
        f"{API}idle-holders/99999", MISSING, options=LEADS
    ),
    "idle-holders/<int:number>/ask": Route(
        f"{API}idle-holders/99999/ask", post=MISSING, options=LEADS
    ),
    "idle-holders/<int:number>/ignore": Route(
        f"{API}idle-holders/99999/ignore", post=MISSING, options=LEADS
    ),
    "waste": Route(f"{API}waste", LEADS),
    "waste-bridge": Route(f"{API}waste-bridge", LEADS),
    "recommendations": Route(f"{API}recommendations", LEADS),
    "what-ifs": Route(f"{API}what-ifs", ONLY_ADMIN, (404, 404, 404, 404, 400)),
    "what-ifs/<int:number>": Route(f"{API}what-ifs/99999", MISSING, options=ONLY_ADMIN),
    "what-ifs/<int:number>/cancel": Route(
        f"{API}what-ifs/99999/cancel", post=MISSING, options=ONLY_ADMIN
    ),
    "change-sets": Route(f"{API}change-sets", ALL, (403, 403, 400, 403, 400)),
    "change-sets/<int:number>": Route(
        f"{API}change-sets/99999",
        MISSING,
        put=(403, 403, 404, 403, 404),
        patch=(403, 403, 404, 403, 404),
    ),
    "change-sets/<int:number>/plan": write(f"{API}change-sets/99999/plan", MISSING),
    "change-sets/<int:number>/approve": write(
        f"{API}change-sets/99999/approve", MISSING
    ),
    "change-sets/<int:number>/apply": write(f"{API}change-sets/99999/apply", MISSING),
    "change-sets/<int:number>/undo": write(f"{API}change-sets/99999/undo", MISSING),
    "change-sets/<int:number>/discard": write(
        f"{API}change-sets/99999/discard", (403, 403, 404, 403, 404)
    ),
    "change-sets/<int:number>/leave-out": write(
        f"{API}change-sets/99999/leave-out", (403, 403, 404, 403, 404)
    ),
    "change-sets/<int:number>/decline": write(
        f"{API}change-sets/99999/decline", MISSING
    ),
    "usage": Route(f"{API}usage", ALL),
    "ledger": Route(f"{API}ledger", ROWS),
    "holds": Route(f"{API}holds", ALL),
    "gpus": Route(f"{API}gpus", ROWS),
    "gpu-holders": Route(f"{API}gpu-holders", ALL),
    "gpu-steps": Route(f"{API}gpu-steps?gpu={GPU}", ROWS),
    "teams": Route(f"{API}teams", ALL, (403, 403, 403, 403, 400)),
    "bindings": Route(f"{API}bindings", ALL, (403, 403, 403, 403, 400)),
    "prices": Route(f"{API}prices", ALL, (403, 403, 403, 403, 400)),
    "prices/import": write(f"{API}prices/import", (403, 403, 403, 415, 415)),
    "price-lists": Route(f"{API}price-lists", ALL, (403, 403, 403, 403, 400)),
    "price-lists/<int:number>": Route(
        f"{API}price-lists/99999", patch=(403, 403, 403, 403, 400)
    ),
    "prices/preview": write(f"{API}prices/preview", (403, 403, 403, 403, 400)),
    "conversion-rates": Route(f"{API}conversion-rates", ALL, (403, 403, 403, 400, 400)),
    "kube-state-jobs": Route(f"{API}kube-state-jobs", ROWS, (404, 404, 404, 403, 400)),
    "bills": Route(f"{API}bills", ROWS, (404, 404, 404, 415, 415)),
    "bills/<int:number>": Route(f"{API}bills/99999", MISSING),
    "bills/<int:number>/variance": Route(f"{API}bills/99999/variance", MISSING),
    "bills/<int:number>/unmatched": Route(f"{API}bills/99999/unmatched", MISSING),
    "bills/<int:number>/final": write(
        f"{API}bills/99999/final", (404, 404, 404, 400, 400)
    ),
    "budgets": Route(f"{API}budgets", LEADS, (404, 404, 403, 400, 400)),
    "budgets/<int:number>/end": Route(
        f"{API}budgets/99999/end", post=(404, 404, 403, 404, 404), options=LEADS
    ),
    "anomalies": Route(f"{API}anomalies", LEADS),
    "contests": Route(f"{API}contests", LEADS),
    "contests/<int:number>": Route(f"{API}contests/99999", MISSING, options=LEADS),
    "contests/<int:number>/answer": Route(
        f"{API}contests/99999/answer", post=MISSING, options=LEADS
    ),
    "contests/<int:number>/accept": Route(
        f"{API}contests/99999/accept", post=MISSING, options=LEADS
    ),
    "contests/<int:number>/reopen": Route(
        f"{API}contests/99999/reopen", post=MISSING, options=LEADS
    ),
    "contests/<int:number>/withdraw": Route(
        f"{API}contests/99999/withdraw", post=MISSING, options=LEADS
    ),
    "periods": Route(f"{API}periods", ROWS),
    "periods/<slug:period>": Route(f"{API}periods/2026-10", ROWS),
    "periods/<slug:period>/checks": Route(f"{API}periods/2026-10/checks", ROWS),
    "periods/<slug:period>/bill-variance": Route(
        f"{API}periods/2026-10/bill-variance", ROWS
    ),
    "periods/<slug:period>/methods": Route(f"{API}periods/2026-10/methods", ROWS),
    "methods": Route(f"{API}methods", ROWS),
    "periods/<slug:period>/check": Route(
        f"{API}periods/2019-01/check", post=MISSING, options=ROWS
    ),
    "periods/<slug:period>/statements": Route(
        f"{API}periods/2019-01/statements", MISSING, options=LEADS
    ),
    "periods/<slug:period>/close": Route(
        f"{API}periods/2026-10/close", ROWS, MONEY_428
    ),
    "periods/<slug:period>/overrides": Route(
        f"{API}periods/2026-10/overrides", ROWS, MONEY_400
    ),
    "overrides/<int:number>/confirm": Route(
        f"{API}overrides/99999/confirm", post=MISSING, options=ROWS
    ),
    "periods/<slug:period>/reopen": Route(
        f"{API}periods/2026-10/reopen", ROWS, MONEY_428
    ),
    "periods/<slug:period>/reopen/<int:number>/confirm": Route(
        f"{API}periods/2026-10/reopen/99999/confirm", post=MISSING, options=ROWS
    ),
    "adjustments": Route(f"{API}adjustments", ROWS, MONEY_400),
    "exports": Route(f"{API}exports", LEADS, (404, 404, 400, 400, 400)),
    "exports/<int:number>": Route(f"{API}exports/99999", MISSING, options=LEADS),
    "exports/<int:number>/file": Route(
        f"{API}exports/99999/file", MISSING, options=LEADS
    ),
    "statements": Route(f"{API}statements", LEADS),
    "statements/<slug:team>/<slug:period>": Route(
        f"{API}statements/vision/2019-01", MISSING, options=LEADS
    ),
    "statements/<slug:team>/<slug:period>/contests": Route(
        f"{API}statements/vision/2019-01/contests",
        post=(404, 404, 400, 400, 400),
        options=LEADS,
    ),
    "charges": Route(f"{API}charges", LEADS),
    "corrections": Route(f"{API}corrections", LEADS),
    "clusters": Route(f"{API}clusters", ALL),
    "audit": Route(f"{API}audit", ROWS),
    "data-issues": Route(f"{API}data-issues", ROWS),
    "": Route(API, ALL),
    "explanation": Route(f"{API}explanation?what=charge", ALL),
    "schema": Route(f"{API}schema", ALL, is_open=True),
    "docs": Route(f"{API}docs", ALL, is_open=True),
}
ROUTES = PAGES | {f"api/v1/{name}": route for name, route in REST.items()}
NOT_THERE = {"api/v1/<path:rest>": "/api/v1/nothing-here"}
"""Answered with 404 by whatever method, once somebody is signed in."""


def find_routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Every route of the product, as its pattern."""
    for one in (resolver or get_resolver()).url_patterns:
        pattern = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield pattern
        else:
            yield from find_routes(one, pattern)
