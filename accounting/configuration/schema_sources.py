"""Clusters and their sources in a set-up file."""

from zoneinfo import ZoneInfo

from accounting.configuration.schema_kubernetes import read_kubernetes
from accounting.configuration.specs import ClusterSpec, SourceSpec
from accounting.configuration.yaml_lines import Entry
from accounting.models import SharePolicyName, SourceKind
from accounting.sources.address import fault_of
from accounting.sources.catalogue import SCALES

LONGEST_TIMEOUT_S = 300
_SOURCE_KEYS = (
    "name",
    "kind",
    "interval",
    "scales",
    "jobs",
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


def read_cluster(entry: Entry, zone: ZoneInfo) -> ClusterSpec:
    entry.allow("name", "sources", "kubernetes", "share", "retired", "kube_state_jobs")
    entries = list(entry.entries("sources"))
    sources = tuple(_source(item) for item in entries)
    names: set[str] = set()
    for item, source in zip(entries, sources, strict=True):
        if source.name in names:  # without a name, it is that of the kind
            item.fail("name", f"source {source.name!r} stands here twice")
        names.add(source.name)
    return ClusterSpec(
        name=entry.text("name", longest=63),
        sources=sources,
        kubernetes=read_kubernetes(entry),
        share=entry.choice("share", tuple(SharePolicyName.values))
        if "share" in entry.values
        else None,
        sets_retired="retired" in entry.values,
        retired=entry.instant_or_none("retired", zone),
        kube_state_jobs=tuple(entry.texts("kube_state_jobs"))
        if "kube_state_jobs" in entry.values
        else None,
    )


def _source(entry: Entry) -> SourceSpec:
    entry.allow(*_SOURCE_KEYS)
    kind = entry.choice("kind", tuple(SourceKind.values))
    interval = entry.values.get("interval")
    if interval is not None and (type(interval) is not int or not 1 <= interval <= 300):
        entry.fail("interval", "'interval' is a number of seconds from 1 to 300")
        interval = None
    scales = entry.mapping("scales")
    for name, scale in scales.items():
        if not isinstance(scale, str) or scale not in SCALES:
            entry.fail(
                "scales", f"scale of {name!r} is {scale!r}; use ratio or percent"
            )
    _check_texts(entry, "headers", "matchers", "parameters")
    if "jobs" in entry.values and not entry.texts("jobs"):
        entry.fail(
            "jobs", "'jobs' lists the scrape jobs that count; leave it out for all"
        )
    if kind == SourceKind.PROMETHEUS:
        _check_url(entry)
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
        entry.text("name", default=kind, longest=63), kind, settings, interval, scales
    )


def _check_url(entry: Entry) -> None:
    url = entry.text("url")
    if url.strip() and (fault := fault_of(url)):
        entry.fail("url", f"'url': {fault}")


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
            if fault := fault_of(url):
                target.fail("urls", fault)
