"""A change of quotas and tiers as a file, for people who work from Git.

cluster: north
reason: Half of it is idle since the re-index ended. OPS-4812
quotas:
  - {team: search, resource: nvidia.com/gpu, gpus: 48}
  - {team: vision, resource: nvidia.com/mig-1g.10gb, gpus: 14, split: by_use}
tiers:
  - {name: batch, value: 2000, preempts: false}
starts_at: 2026-12-01          # optional
ends_at: 2026-12-08            # optional: a loan that returns by itself
force: [ResourceQuota team-search/gpu-ledger]
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from accounting.configuration.yaml_lines import DocumentError, Entry, Fault, parse
from scheduler_view.actions.change_sets import Draft
from scheduler_view.domain.plan.edit import EditsRefused
from scheduler_view.domain.plan.given_edit import edits_from
from scheduler_view.queries.resources import added_names

_SECTIONS = ("cluster", "reason", "quotas", "tiers", "starts_at", "ends_at", "force")
_NAMES = {"split": "rule", "default": "is_default"}  # as people write them
_NEVER = datetime(9998, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """What a file asks for, of which cluster."""

    cluster: str
    draft: Draft


def read_change(
    text: str, *, clusters: Collection[str], timezone: str = "UTC"
) -> ChangeFile:
    """A checked change from YAML.

    Args:
        text: the file.
        clusters: names that exist.
        timezone: in which a date begins.

    Raises:
        DocumentError: every fault of the file, each with its line.
    """
    root = parse(text)
    root.allow(*_SECTIONS)
    zone = ZoneInfo(timezone)
    cluster = root.text("cluster", longest=63)
    if cluster and cluster not in clusters:
        known = ", ".join(sorted(clusters)) or "none is set up"
        root.fail("cluster", f"no cluster is called {cluster!r}; known: {known}")
    entries = [
        *((entry, _values(entry, "quota")) for entry in root.entries("quotas")),
        *((entry, _values(entry, "tier")) for entry in root.entries("tiers")),
    ]
    reason = root.text("reason", longest=200)
    edits = []
    try:
        edits = edits_from([values for _, values in entries], added_names())
    except EditsRefused as error:
        for fault in error.faults:
            entry = entries[fault.index][0] if entries else root
            entry.fail(_written(fault.field), f"{fault.field}: {fault.text}")
    draft = Draft(
        edits,
        reason,
        forced=tuple(root.texts("force", longest=400)),
        starts_at=_instant(root, "starts_at", zone),
        ends_at=_instant(root, "ends_at", zone),
    )
    if root.faults:
        raise DocumentError(sorted(root.faults, key=lambda fault: fault.line))
    return ChangeFile(cluster, draft)


def line_fault(text: str, section: str, message: str) -> Fault:
    """A fault that was found later, at the line of its section."""
    root = parse(text)
    return Fault(root.lines.get(section, 1), message)


def _values(entry: Entry, kind: str) -> Mapping[str, Any]:
    plain = {_NAMES.get(name, name): value for name, value in entry.plain().items()}
    if "kind" in entry.values:
        entry.fail("kind", "the section says what it is; leave 'kind' out")
    return plain | {"kind": kind}


def _written(field: str) -> str:
    return next((name for name, ours in _NAMES.items() if ours == field), field)


def _instant(root: Entry, key: str, zone: ZoneInfo) -> datetime | None:
    found = root.instant(key, zone, default=_NEVER)
    return None if found == _NEVER else found
