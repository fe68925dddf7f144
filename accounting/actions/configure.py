"""The whole set-up as one file: read and checked first, then brought about (idempotent)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo, available_timezones

from babel.numbers import list_currencies

from accounting.actions.document import DocumentError, Entry, parse
from accounting.models import BindingKind, LabelPurpose, SourceKind
from accounting.sources.catalogue import SCALES, normal_model

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_TIMEOUT_S = 300
_SECTIONS = ("billing", "clusters", "teams", "bindings", "prices", "labels")
_SOURCE_KEYS = (
    "name",
    "kind",
    "interval",
    "scales",
    "url",
    "targets",
    "headers",
    "matchers",
    "parameters",
    "bearer_token_file",
    "username",
    "password_file",
    "ca_file",
    "timeout_s",
)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source of a cluster, as configured."""

    name: str
    kind: str
    settings: dict[str, object]
    interval_s: int | None
    scales: dict[str, str]


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster, as configured; sources None leaves those that are there."""

    name: str
    sources: tuple[SourceSpec, ...]
    kubernetes: dict[str, object]


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """One team, as configured."""

    slug: str
    name: str
    department: str
    cost_centre: str
    leads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BindingSpec:
    """One binding rule, as configured."""

    kind: str
    label: str
    glob: str
    team: str
    valid_from: datetime


@dataclass(frozen=True, slots=True)
class PriceSpec:
    """One price, as configured."""

    model: str
    profile: str
    lifecycle: str
    cluster: str
    tier: str
    rate: Decimal
    cost: Decimal | None
    valid_from: datetime

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What the price is for."""
        return self.model, self.profile, self.lifecycle, self.cluster, self.tier


@dataclass(frozen=True, slots=True)
class Configuration:
    """A whole set-up. Sections that the file leaves out are None: they stay as they are."""

    currency: str | None = None
    timezone: str | None = None
    clusters: tuple[ClusterSpec, ...] = ()
    teams: tuple[TeamSpec, ...] = ()
    bindings: tuple[BindingSpec, ...] | None = None
    prices: tuple[PriceSpec, ...] | None = None
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_configuration(text: str, *, known_teams: Sequence[str] = ()) -> Configuration:
    """A checked configuration from YAML.

    Args:
        text: the file.
        known_teams: slugs that exist already, which bindings may name.

    Raises:
        DocumentError: every fault of the file, each with its line.
    """
    root = parse(text)
    root.allow(*_SECTIONS)
    currency, timezone = _billing(root)
    zone = ZoneInfo(timezone or "UTC")
    teams = tuple(_team(entry) for entry in root.entries("teams"))
    _once(root, "teams", [team.slug for team in teams], "team")
    clusters = tuple(_cluster(entry) for entry in root.entries("clusters"))
    _once(root, "clusters", [cluster.name for cluster in clusters], "cluster")
    slugs = {*known_teams, *(team.slug for team in teams)}
    bindings = _bindings(root, slugs, zone)
    prices = _prices(root, zone)
    labels = _labels(root)
    if root.faults:
        raise DocumentError(sorted(root.faults, key=lambda fault: fault.line))
    return Configuration(
        currency=currency,
        timezone=timezone,
        clusters=clusters,
        teams=teams,
        bindings=bindings,
        prices=prices,
        labels=labels,
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
        entry.fail("currency", f"{currency!r} is no ISO 4217 currency")
    timezone = entry.text("timezone", default="UTC")
    if timezone not in available_timezones():
        entry.fail("timezone", f"{timezone!r} is no IANA time zone, like Europe/Berlin")
        timezone = "UTC"
    return currency, timezone


def _once(root: Entry, section: str, names: list[str], what: str) -> None:
    for name in sorted({name for name in names if names.count(name) > 1}):
        root.fail(section, f"{what} {name!r} stands here twice")


def _team(entry: Entry) -> TeamSpec:
    entry.allow("slug", "name", "department", "cost_centre", "leads")
    slug = entry.text("slug", longest=63)
    if slug and not slug.replace("-", "").isalnum():
        entry.fail("slug", f"{slug!r} is no slug: letters, digits and dashes only")
    if slug == "unmapped":
        entry.fail("slug", "'unmapped' is the line of usage without a team")
    return TeamSpec(
        slug=slug,
        name=entry.text("name", default=slug, longest=200),
        department=entry.text("department", default="", longest=200),
        cost_centre=entry.text("cost_centre", default="", longest=100),
        leads=tuple(entry.texts("leads")),
    )


def _cluster(entry: Entry) -> ClusterSpec:
    entry.allow("name", "sources", "kubernetes")
    sources = tuple(_source(item) for item in entry.entries("sources"))
    _once(entry, "sources", [source.name for source in sources], "source")
    return ClusterSpec(
        name=entry.text("name", longest=63),
        sources=sources,
        kubernetes=entry.mapping("kubernetes"),
    )


def _source(entry: Entry) -> SourceSpec:
    entry.allow(*_SOURCE_KEYS)
    kind = entry.choice("kind", tuple(SourceKind.values))
    interval = entry.values.get("interval")
    if interval is not None and (
        not isinstance(interval, int) or not 1 <= interval <= 300
    ):
        entry.fail("interval", "'interval' is a number of seconds from 1 to 300")
        interval = None
    scales = entry.mapping("scales")
    for name, scale in scales.items():
        if scale not in SCALES:
            entry.fail(
                "scales", f"scale of {name!r} is {scale!r}; use ratio or percent"
            )
    _check_texts(entry, "headers", "matchers", "parameters")
    if kind == SourceKind.PROMETHEUS and not str(entry.text("url")).startswith("http"):
        entry.fail("url", "'url' must start with http:// or https://")
    if kind == SourceKind.SCRAPE:
        _check_targets(entry)
    settings = {
        key: value
        for key, value in entry.plain().items()
        if key not in ("name", "kind", "interval", "scales")
    }
    if "timeout_s" in settings:
        settings["timeout_s"] = _timeout_s(entry)
    return SourceSpec(
        entry.text("name", default=kind), kind, settings, interval, scales
    )


def _check_texts(entry: Entry, *keys: str) -> None:
    for key in keys:
        for name, value in entry.mapping(key).items():
            if not isinstance(value, str):
                entry.fail(key, f"{key!r}: the value of {name!r} must be a text")


def _timeout_s(entry: Entry) -> float:
    """Seconds for one answer; more than a worker's patience is a fault."""
    try:
        seconds = float(entry.values["timeout_s"])
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT_S:
        entry.fail(
            "timeout_s",
            f"'timeout_s' is a number of seconds above 0, at most {LONGEST_TIMEOUT_S}",
        )
    return seconds


def _check_targets(entry: Entry) -> None:
    targets = list(entry.entries("targets"))
    if not targets:
        entry.fail("targets", "a scrape source needs `targets`")
    for target in targets:
        target.allow("job", "urls")
        target.text("job")
        for url in target.texts("urls"):
            if not url.startswith(("http://", "https://")):
                target.fail("urls", f"{url!r} must start with http:// or https://")


def _bindings(
    root: Entry, teams: set[str], zone: ZoneInfo
) -> tuple[BindingSpec, ...] | None:
    if "bindings" not in root.values:
        return None
    found: list[BindingSpec] = []
    for entry in root.entries("bindings"):
        kinds = [kind for kind in BindingKind.values if kind in entry.values]
        entry.allow(*BindingKind.values, "glob", "team", "valid_from")
        team = entry.text("team")
        if team and team not in teams:
            entry.fail("team", f"no team has the slug {team!r}")
        if len(kinds) != 1:
            entry.fail("team", f"give exactly one of {', '.join(BindingKind.values)}")
            continue
        value = entry.text(kinds[0])
        is_label = kinds[0] != BindingKind.NAMESPACE
        spec = BindingSpec(
            kind=kinds[0],
            label=value if is_label else "",
            glob=entry.text("glob", default="*") if is_label else value,
            team=team,
            valid_from=entry.instant("valid_from", zone, default=LONG_AGO),
        )
        if any(_same_rule(spec, other) for other in found):
            entry.fail(
                kinds[0], f"the rule for {value!r} from that time stands here twice"
            )
        found.append(spec)
    return tuple(found)


def _same_rule(one: BindingSpec, other: BindingSpec) -> bool:
    return (one.kind, one.label, one.glob, one.valid_from) == (
        other.kind,
        other.label,
        other.glob,
        other.valid_from,
    )


def _prices(root: Entry, zone: ZoneInfo) -> tuple[PriceSpec, ...] | None:
    if "prices" not in root.values:
        return None
    found: list[PriceSpec] = []
    for entry in root.entries("prices"):
        entry.allow(
            "model",
            "profile",
            "lifecycle",
            "cluster",
            "tier",
            "rate_per_gpu_hour",
            "cost_per_gpu_hour",
            "valid_from",
        )
        rate = entry.money("rate_per_gpu_hour")
        if rate is None:
            entry.fail("rate_per_gpu_hour", "'rate_per_gpu_hour' is missing or wrong")
        spec = PriceSpec(
            model=normal_model(entry.text("model")),
            profile=entry.text("profile", default=""),
            lifecycle=entry.text("lifecycle", default=""),
            cluster=entry.text("cluster", default=""),
            tier=entry.text("tier", default=""),
            rate=rate or Decimal(0),
            cost=entry.money("cost_per_gpu_hour"),
            valid_from=entry.instant("valid_from", zone, default=LONG_AGO),
        )
        if any((spec.key, spec.valid_from) == (p.key, p.valid_from) for p in found):
            entry.fail(
                "model", f"the price of {spec.model!r} from that time stands twice"
            )
        found.append(spec)
    return tuple(found)


def _labels(root: Entry) -> dict[str, tuple[str, ...]]:
    entry = _section(root, "labels")
    if entry is None:
        return {}
    entry.allow(*LabelPurpose.values)
    found: dict[str, tuple[str, ...]] = {}
    for purpose in LabelPurpose.values:
        value = entry.values.get(purpose)
        if value is not None:
            names = [value] if isinstance(value, str) else entry.texts(purpose)
            found[purpose] = tuple(names)
    return found
