"""What is asked: every page of the navigation and every list, by ranges; commands; then links.

Names (teams, months, GPUs) are read from the database. People of all kinds ask: the first
administrator and finance person, the first lead and the first viewer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import product
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator

from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team
from accounting.kit.pages.fragments import card_address, every_card
from accounting.kit.reads.dimensions import LEDGER_DIMENSIONS, USAGE_DIMENSIONS
from accounting.metering.models.cluster import Gpu
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.charges import DIMENSIONS as CHARGE_DIMENSIONS
from portal.shell.navigation import ROUTES
from tests.answers.asking import COMMAND, FILE, Question

FEW = 3  # teams and GPUs with pages of their own
PAGE_RANGES = (
    *("", "range=today", "range=last-7-days", "range=last-28-days"),
    *("range=last-month", "range=last-12-months", "range=last-7-days&cmp=off"),
    *("cmp=month", "range=last-7-days&cmp=weekdays", "range=last-month&cmp=year"),
)
BRIEF_RANGES = ("", "range=last-7-days", "range=last-month")
GROUPS = (
    "team,day",
    "team,model",
    "cluster,hour",
    "team,workload,day",
    "gpu,node,team",
)
OF_LISTS = {
    "usage": (*USAGE_DIMENSIONS, *GROUPS),
    "ledger": (*LEDGER_DIMENSIONS, "team,day", "model,hour"),
    "charges": (*sorted(CHARGE_DIMENSIONS), "kind,corrects", "day,team"),
}
CURRENT = (
    *("quotas", "limits", "tiers", "waiting", "queued-units", "resource-pools"),
    *("queues", "queue-values", "budgets", "wait-times", "node-notes", "preemptions"),
)
EXPLAINED = ("charge", "idle_charge", "allocated", "busy_share", "coverage", "ledger")
OF_HOURS = (
    "usage",
    "ledger",
    "holds",
    "gpus",
    "gpu-holders",
    "gpu-steps",
    "explanation",
)


@dataclass(frozen=True)
class Names:
    """What the database has."""

    people: Sequence[str]
    teams: Sequence[str]
    gpus: Sequence[str]
    periods: Sequence[str]


def names_in_database() -> Names:
    """The first of each kind, in the order of their names."""
    roles = (OrganizationRole.ADMIN, OrganizationRole.FINANCE)
    found = [
        Person.objects.filter(role=role).order_by("user__username") for role in roles
    ]
    people = [one.user.get_username() for rows in found for one in rows[:1]]
    for role in (TeamRole.LEAD, TeamRole.VIEWER):
        some = Membership.objects.filter(role=role, user__person__role="none")
        people.extend(
            one.user.get_username() for one in some.order_by("user__username")[:1]
        )
    return Names(
        people,
        [*Team.objects.order_by("slug").values_list("slug", flat=True)],
        [*Gpu.objects.order_by("uuid").values_list("uuid", flat=True)[:FEW]],
        sorted({*PeriodRevision.objects.values_list("period", flat=True)}),
    )


def questions(names: Names, now: datetime) -> Iterator[Question]:
    """All of them; what people without a role may not see is asked for as well."""
    for n, who in enumerate(names.people):
        for page in pages(names, PAGE_RANGES if n == 0 else BRIEF_RANGES):
            yield who, page
        for address in lists(names, now, is_brief=n > 0):
            yield who, address
    for line in commands(names, now):
        yield COMMAND, line


# --- pages ---------------------------------------------------------------------------


def pages(names: Names, ranges: Sequence[str]) -> Iterator[str]:
    """Pages of the navigation and of some teams, by ranges; then of months and GPUs."""
    of_ranges = [reverse(route) for route in ROUTES]
    for team in names.teams[:FEW]:
        of_ranges += [f"/teams/{team}", f"/teams/{team}/workloads"]
        yield f"/teams/{team}/quota"
        yield f"/teams/{team}/rules"
    of_ranges += ["/recommendations", "/quotas/limits", "/attribution"]
    for slug in names.teams[:FEW] or ("none",):
        cards = [card_address(card, slug=slug) for card in every_card()]
        of_ranges += [one for one in cards if one not in of_ranges]
    of_ranges += [f"/explain?what={what}" for what in EXPLAINED]
    months = [f"from={period}-01&to={_next(period)}-01" for period in names.periods]
    for page, asked in product(of_ranges, [*ranges, *months]):
        yield f"{page}{'&' if '?' in page else '?'}{asked}".rstrip("?&")
    for gpu, asked in product(names.gpus, ranges):
        yield f"/gpus/{gpu}?{asked}".rstrip("?")
    for asked in (
        "view=timeline",
        "view=timeline&over=range",
        "over=range&sort=-earned",
    ):
        yield f"/gpus?{asked}"
    for period in names.periods:
        yield from _of_month(names, period)


def _of_month(names: Names, period: str) -> Iterator[str]:
    for at in ("", "/methods?compare=yes", "/files/focus", "/files/charges"):
        yield f"/months/{period}{at}"
    for by in ("team", "workload", "namespace", "model"):
        yield f"/charges?period={period}&by={by}"
    yield f"/bills/months/{period}"
    for team in (*names.teams, "platform", "unmapped"):
        yield f"/statements/{team}/{period}"


def _next(period: str) -> str:
    first = date.fromisoformat(f"{period}-01")
    return f"{first + timedelta(days=31):%Y-%m}"


# --- lists ---------------------------------------------------------------------------


def lists(names: Names, now: datetime, *, is_brief: bool) -> Iterator[str]:
    """Every list of the API with each of its parameters, and as CSV."""
    generator: Any = SchemaGenerator  # has no types
    found = generator().get_schema(request=None, public=True)["paths"]
    for path, verbs in found.items():
        if (
            "get" not in verbs
            or "{number}" in path
            or path.endswith(("schema", "docs"))
        ):
            continue
        some = verbs["get"].get("parameters", ())
        known = {one["name"] for one in some if one["in"] == "query"}
        for place in _filled(path, names):
            for pairs in _choices(place, known, names, now, is_brief=is_brief):
                query = urlencode(pairs)
                yield f"{place}?{query}" if query else place


def api_reads() -> dict[str, Any]:
    """What the API document says of each address that can be read."""
    generator: Any = SchemaGenerator  # has no types
    found = generator().get_schema(request=None, public=True)["paths"]
    return {path: verbs["get"] for path, verbs in found.items() if "get" in verbs}


def _filled(path: str, names: Names) -> Iterator[str]:
    periods = names.periods if "{period}" in path else [""]
    teams = names.teams if "{team}" in path else [""]
    for period, team in product(periods, teams):
        yield path.replace("{period}", period).replace("{team}", team)


def _choices(
    place: str, known: set[str], names: Names, now: datetime, *, is_brief: bool
) -> Iterator[dict[str, str]]:
    name = place.rpartition("/")[2]
    needed = {"gpu": names.gpus[0]} if name == "gpu-steps" and names.gpus else {}
    yield needed
    ranges: list[dict[str, Any]] = [{}]
    if "from" in known:
        found = [
            one for one in api_ranges(names, now) if name in OF_HOURS or _is_days(one)
        ]
        ranges += found[: 2 if is_brief else None]
    if "period" in known:
        ranges += [{"period": period} for period in names.periods]
    csv = {"format": "csv"} if "format" in known else {}
    for chosen in ranges:
        yield needed | chosen | csv
    for by, chosen in product(OF_LISTS.get(name, ()), ranges):
        yield {"by": by} | chosen | csv
    if "as" in known:
        by = "model" if name == "ledger" else "team"
        for how, chosen in product(("booked", "corrected", "measured"), ranges):
            yield {"as": how, "by": by} | chosen | csv
    if name == "explanation":
        for what, chosen in product(EXPLAINED, ranges):
            yield {"what": what} | chosen
    if "team" in known and names.teams:
        yield needed | {"team": names.teams[0]} | csv


def api_ranges(names: Names, now: datetime) -> list[dict[str, Any]]:
    """Seven days, a day until this hour, hours in the middle of days, and booked months."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    week = hour - timedelta(days=7)
    found = [
        {"from": f"{now - timedelta(days=7):%Y-%m-%d}", "to": f"{now:%Y-%m-%d}"},
        {"from": f"{hour - timedelta(days=1):%Y-%m-%dT%H:%MZ}"},
        {"from": f"{week:%Y-%m-%dT%H:%MZ}", "to": f"{hour:%Y-%m-%dT%H:%MZ}"},
    ]
    for period in names.periods:
        found.append({"from": f"{period}-01", "to": f"{_next(period)}-01"})
        found.append({"from": f"{period}-20T03:00Z", "to": f"{period}-26T17:00Z"})
    return found


def _is_days(chosen: dict[str, Any]) -> bool:
    return not any("T" in value for value in chosen.values())


# --- commands ------------------------------------------------------------------------


def commands(names: Names, now: datetime) -> Iterator[str]:
    """Reports, statements and files; those that compute a running month again are last."""
    ranges = ["", *(_options(one) for one in api_ranges(names, now))]
    for by, chosen in product(("team", "team,day", "workload", "model,hour"), ranges):
        yield f"report usage --by {by}{chosen} --format csv"
    for how, chosen in product(("corrected", "measured"), ranges):
        yield f"report usage --as {how}{chosen} --format csv"
    for what, chosen in product(("ledger", "holds", "issues", "waste"), ranges):
        if what != "waste" or "T" not in chosen:
            yield f"report {what}{chosen} --format csv"
    for what in CURRENT:
        yield f"report {what} --format csv"
    yield "report usage"
    yield "verify"
    for period in names.periods:
        days = f"--from {period}-01 --to {_next(period)}-01"
        yield f"compare_methods {days} --format csv"
        yield f"report charges --period {period} --format csv"
        yield f"report corrections --period {period} --format csv"
        for team in (*names.teams, "platform", "unmapped"):
            yield f"statement {period} {team}"
        for what, format_ in product(
            ("focus", "charges", "statements"), ("csv", "xlsx", "parquet")
        ):
            yield f"export {what} --period {period} --format {format_} -o {FILE}"


def _options(chosen: dict[str, Any]) -> str:
    return "".join(f" --{name} {value}" for name, value in chosen.items())
