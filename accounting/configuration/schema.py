"""The whole set-up as one file: read and checked first, then brought about (idempotent)."""

import re
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo, available_timezones

from babel.numbers import list_currencies

from accounting.configuration.schema_sources import read_cluster
from accounting.configuration.specs import (
    LONG_AGO,
    BindingSpec,
    Configuration,
    PriceSpec,
    TeamSpec,
)
from accounting.configuration.yaml_lines import DocumentError, Entry, once, parse
from accounting.domain.inventory.label_names import label_name
from accounting.domain.units.mig_profiles import fault_of, normal
from accounting.domain.units.resources import is_counted, sanitised
from accounting.models import BindingKind, LabelPurpose
from accounting.queries.dimensions import LIFECYCLES
from accounting.sources.catalogue import normal_model

_SECTIONS = (
    "billing",
    "clusters",
    "teams",
    "bindings",
    "prices",
    "labels",
    "resources",
)
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PERSON = re.compile(r"[\w.@+-]+")  # Django's own rule for names of users
_RESOURCE = re.compile(
    r"[a-z0-9.-]{1,253}/[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?", re.ASCII
)
_SHARE = re.compile(r"[0-9]{1,4}(?:/[0-9]{1,4}|\.[0-9]{1,6})?")
_PRICED_LIFECYCLES = tuple(name for name in LIFECYCLES if name != "unknown")  # N26
_PRICE_KEYS = (
    "model",
    "profile",
    "lifecycle",
    "cluster",
    "tier",
    "rate_per_gpu_hour",
    "cost_per_gpu_hour",
    "valid_from",
    "source",
)


def read_configuration(
    text: str,
    *,
    known_teams: Collection[str] = (),
    known_clusters: Collection[str] = (),
    timezone: str = "UTC",
) -> Configuration:
    """A checked configuration from YAML.

    Args:
        text: the file.
        known_teams: slugs that exist already, which bindings may name.
        known_clusters: clusters that exist already, which prices may name.
        timezone: in which a date begins where the file sets none.

    Raises:
        DocumentError: every fault of the file, each with its line.
    """
    root = parse(text)
    root.allow(*_SECTIONS)
    currency, own_timezone = _billing(root)
    zone = ZoneInfo(own_timezone or timezone)
    team_entries = list(root.entries("teams"))
    teams = tuple(_team(entry) for entry in team_entries)
    once(team_entries, "slug", "team")
    cluster_entries = list(root.entries("clusters"))
    clusters = tuple(read_cluster(entry, zone) for entry in cluster_entries)
    once(cluster_entries, "name", "cluster")
    slugs = {*known_teams, *(team.slug for team in teams)}
    names = {*known_clusters, *(cluster.name for cluster in clusters)}
    bindings = _bindings(root, slugs, zone)
    prices = _prices(root, names, zone)
    labels = _labels(root)
    resources = _resources(root)
    if root.faults:
        raise DocumentError(sorted(root.faults, key=lambda fault: fault.line))
    return Configuration(
        currency=currency,
        timezone=own_timezone,
        clusters=clusters,
        teams=teams,
        bindings=bindings,
        prices=prices,
        labels=labels,
        resources=resources,
    )


def _section(root: Entry, name: str) -> Entry | None:
    value = root.values.get(name)
    if value is None:
        return None
    if not isinstance(value, Entry):
        root.fail(name, f"{name!r} must be a mapping")
        return None
    return value


def _billing(root: Entry) -> tuple[str | None, str | None]:
    entry = _section(root, "billing")
    if entry is None:
        return None, None
    entry.allow("currency", "timezone")
    currency = entry.text("currency", default="USD")
    if currency not in list_currencies():
        entry.fail("currency", f"{currency!r} is no ISO 4217 currency, like EUR")
    timezone = entry.text("timezone", default="UTC")
    if timezone not in available_timezones():
        entry.fail("timezone", f"{timezone!r} is no IANA time zone, like Europe/Berlin")
        timezone = "UTC"
    return currency, timezone


def _team(entry: Entry) -> TeamSpec:
    entry.allow("slug", "name", "department", "cost_centre", "leads")
    slug = entry.text("slug", longest=63)
    if slug and not _SLUG.fullmatch(slug):
        entry.fail(
            "slug", f"{slug!r} is no slug: letters a to z, digits, dashes and _ only"
        )
    if slug == "unmapped":
        entry.fail("slug", "'unmapped' is the line of usage without a team")
    leads = entry.texts("leads", longest=150)
    for name in leads:
        if not _PERSON.fullmatch(name):
            entry.fail("leads", f"{name!r} is no user name: letters, digits and @.+-_")
    return TeamSpec(
        slug=slug,
        name=entry.text("name", default=slug, longest=200),
        department=entry.text("department", default="", longest=200),
        cost_centre=entry.text("cost_centre", default="", longest=100),
        leads=tuple(leads),
    )


def _rules(root: Entry, section: str) -> list[Entry] | None:
    """The mappings of a section that the file replaces as a whole; None leaves it."""
    if section not in root.values:
        return None
    if root.values[section] is None:
        root.fail(
            section,
            f"{section!r} is empty: write [] to have none, or leave it out to keep all",
        )
    return list(root.entries(section))


def _bindings(
    root: Entry, teams: set[str], zone: ZoneInfo
) -> tuple[BindingSpec, ...] | None:
    entries = _rules(root, "bindings")
    if entries is None:
        return None
    found: list[BindingSpec] = []
    seen: set[object] = set()
    for entry in entries:
        spec = _binding(entry, teams, zone)
        if spec is None:
            continue
        key = (spec.kind, spec.label, spec.glob, spec.valid_from)
        if key in seen:
            what = spec.label or spec.glob
            entry.fail(
                spec.kind, f"the rule for {what!r} from that time stands here twice"
            )
        seen.add(key)
        found.append(spec)
    return tuple(found)


def _binding(entry: Entry, teams: set[str], zone: ZoneInfo) -> BindingSpec | None:
    entry.allow(*BindingKind.values, "glob", "team", "valid_from")
    team = entry.text("team")
    if team and team not in teams:
        entry.fail("team", f"no team has the slug {team!r}; add it under `teams`")
    kinds = [kind for kind in BindingKind.values if kind in entry.values]
    if len(kinds) != 1:
        entry.fail("team", f"give exactly one of {', '.join(BindingKind.values)}")
        return None
    kind = kinds[0]
    is_label = kind != BindingKind.NAMESPACE
    value = entry.text(kind, longest=317 if is_label else 253)
    if not is_label and "glob" in entry.values:
        entry.fail("glob", "'glob' is for labels; a namespace rule is a glob itself")
    return BindingSpec(
        kind=kind,
        label=value if is_label else "",
        glob=entry.text("glob", default="*") if is_label else value,
        team=team,
        valid_from=entry.instant("valid_from", zone, default=LONG_AGO),
    )


def _prices(
    root: Entry, clusters: set[str], zone: ZoneInfo
) -> tuple[PriceSpec, ...] | None:
    entries = _rules(root, "prices")
    if entries is None:
        return None
    found: list[PriceSpec] = []
    seen: set[object] = set()
    for entry in entries:
        spec = _price(entry, clusters, zone)
        if (spec.key, spec.valid_from) in seen:
            entry.fail(
                "model", f"the price of {spec.model!r} from that time stands twice"
            )
        seen.add((spec.key, spec.valid_from))
        found.append(spec)
    return tuple(found)


def _price(entry: Entry, clusters: set[str], zone: ZoneInfo) -> PriceSpec:
    entry.allow(*_PRICE_KEYS)
    if entry.values.get("rate_per_gpu_hour") is None:
        entry.fail("rate_per_gpu_hour", "'rate_per_gpu_hour' is missing")
    cluster = entry.text("cluster", default="")
    if cluster and cluster not in clusters:
        entry.fail("cluster", f"no cluster is called {cluster!r}; add it to `clusters`")
    lifecycle = entry.text("lifecycle", default="")
    if lifecycle and lifecycle not in _PRICED_LIFECYCLES:
        known = ", ".join(_PRICED_LIFECYCLES)
        entry.fail("lifecycle", f"'lifecycle' is {lifecycle!r}; use {known}")
    model = normal_model(entry.text("model", longest=200))
    profile = normal(entry.text("profile", default="", longest=64))
    if profile and (fault := fault_of(profile, model)):
        entry.fail("profile", fault)
    return PriceSpec(
        model=model,
        profile=profile,
        lifecycle=lifecycle,
        cluster=cluster,
        tier=entry.text("tier", default=""),
        rate=entry.money("rate_per_gpu_hour") or Decimal(0),
        cost=entry.money("cost_per_gpu_hour"),
        valid_from=entry.instant("valid_from", zone, default=LONG_AGO),
        source=entry.text("source", default="", longest=500),
    )


def _labels(root: Entry) -> dict[str, tuple[str, ...]]:
    entry = _section(root, "labels")
    if entry is None:
        return {}
    entry.allow(*LabelPurpose.values)
    found: dict[str, tuple[str, ...]] = {}
    for purpose in LabelPurpose.values:
        value = entry.values.get(purpose)
        if value is None:
            continue
        names = (
            [entry.text(purpose, longest=317)]
            if isinstance(value, str)
            else entry.texts(purpose, longest=317)
        )
        if len(set(map(label_name, names))) < len(names):
            fault = f"a label of {purpose!r} stands here twice, as metrics spell it"
            entry.fail(purpose, fault)
        found[purpose] = tuple(names)
    return found


def _resources(root: Entry) -> dict[str, Fraction] | None:
    """Names of further GPU resources, and what one unit is; None leaves those there are."""
    if "resources" not in root.values:
        return None
    entry = root.values["resources"]
    if not isinstance(entry, Entry):
        root.fail(
            "resources",
            "'resources' must be a mapping of names to shares; write {} to have none",
        )
        return None
    found: dict[str, Fraction] = {}
    spelt: set[str] = set()
    for name in entry.values:
        if not _RESOURCE.fullmatch(name):
            entry.fail(name, f"{name!r} is no resource's name, like example.com/gpu")
        elif is_counted(name, ()):
            entry.fail(name, f"{name!r} is known already: its nodes say what a unit is")
        elif sanitised(name) in spelt:
            entry.fail(name, f"kube-state spells {name!r} like another one here")
        spelt.add(sanitised(name))
        share = _share(entry.text(name))
        if share is None:
            entry.fail(
                name,
                f"{name!r} is no share of one GPU above 0 to 1, like 1, 1/2 or 0.5",
            )
        else:
            found[name] = share
    return found


def _share(text: str) -> Fraction | None:
    """A part of one GPU; None for anything else."""
    try:
        share = Fraction(text) if _SHARE.fullmatch(text) else Fraction(0)
    except ZeroDivisionError:
        return None
    return share if 0 < share <= 1 else None
