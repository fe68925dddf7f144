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
ROWS: Codes = (404, 404, 404, 200, 200)  # lists for finance and administrators


@dataclass(frozen=True)
class Route:
    """One route. A method that is None is answered with 405.

    Attributes:
        at: an address of it; `{binding}` stands for a rule that is there.
        is_open: for people who are not signed in, too.
    """

    at: str
    get: Codes | None = None
    post: Codes | None = None
    put: Codes | None = None
    patch: Codes | None = None
    is_open: bool = False

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
    "quotas/yaml": Route("/quotas/yaml?cluster=north&team=vision", TEAM),
    "quotas/change": posted("/quotas/change", (403, 403, 403, 403, 404)),
    "quotas/settle": posted("/quotas/settle", (403, 403, 403, 403, 404)),
    "changes": Route("/changes", ALL),
    "changes/<int:number>": Route("/changes/99999", MISSING),
    "changes/<int:number>/<slug:verb>": posted("/changes/99999/plan", MISSING),
    "tiers": Route("/tiers", ALL),
    "tiers/change": Route(
        "/tiers/change?cluster=north", ADMIN, (403, 403, 403, 403, 404)
    ),
    "teams/<slug:slug>/quota": Route(
        "/teams/vision/quota", TEAM, (404, 403, 422, 403, 403)
    ),
    "teams": Route("/teams", ALL),
    "teams/<slug:slug>": Route("/teams/vision", TEAM),
    "teams/<slug:slug>/workloads": Route("/teams/vision/workloads", TEAM),
    "teams/<slug:slug>/rules": Route("/teams/vision/rules", TEAM),
    "gpus": Route("/gpus", ALL),
    "gpus/<path:uuid>": Route(f"/gpus/{GPU}", ROWS),
    "explain": Route("/explain?what=charge", ALL),
    "prices": Route("/prices", ALL),
    "prices/new": Route("/prices/new", ADMIN, (403, 403, 403, 403, 422)),
    "attribution": Route("/attribution", WHOLE),
    "attribution/new": Route("/attribution/new", ADMIN, (403, 403, 403, 403, 422)),
    "attribution/<int:binding_id>/end": Route(
        "/attribution/{binding}/end", ADMIN, (403, 403, 403, 403, 422)
    ),
    "audit": Route("/audit", WHOLE),
    "account": Route("/account", ALL),
    "account/password": posted("/account/password", (422, 422, 422, 422, 422)),
    "account/preferences": posted("/account/preferences", (204, 204, 204, 204, 204)),
    "account/tokens": posted("/account/tokens", (422, 422, 422, 422, 422)),
    "account/tokens/revoke": posted("/account/tokens/revoke", FOUND),
}
REST: dict[str, Route] = {
    "quotas": Route(f"{API}quotas", ALL),
    "tiers": Route(f"{API}tiers", ALL),
    "queues": Route(f"{API}queues", ROWS),
    "waiting": Route(f"{API}waiting", ALL),
    "preemptions": Route(f"{API}preemptions", ALL),
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
    "kube-state-jobs": Route(f"{API}kube-state-jobs", ROWS, (404, 404, 404, 403, 400)),
    "clusters": Route(f"{API}clusters", ALL),
    "audit": Route(f"{API}audit", ROWS),
    "data-issues": Route(f"{API}data-issues", ROWS),
    "schema": Route(f"{API}schema", ALL, is_open=True),
    "docs": Route(f"{API}docs", ALL, is_open=True),
}
ROUTES = PAGES | {f"api/v1/{name}": route for name, route in REST.items()}
NOT_THERE = {"api/v1/": "/api/v1/", "api/v1/<path:rest>": "/api/v1/nothing-here"}
"""Answered with 404 by whatever method, once somebody is signed in."""


def find_routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Every route of the product, as its pattern."""
    for one in (resolver or get_resolver()).url_patterns:
        pattern = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield pattern
        else:
            yield from find_routes(one, pattern)
