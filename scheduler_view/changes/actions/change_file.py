"""A change of quotas, tiers and queues as a file, for use with Git.

cluster: north
reason: Half of it is idle since the re-index ended. OPS-4812
quotas:
  - {team: search, resource: nvidia.com/gpu, gpus: 48}
  - {team: vision, resource: nvidia.com/mig-1g.10gb, gpus: 14, split: by_use}
tiers:
  - {name: batch, value: 2000, preempts: false}
queues:
  - {object: ClusterQueue, name: vision, field: a100/nvidia.com/gpu/nominalQuota, value: 12}
starts_at: 2026-12-01          # optional
ends_at: 2026-12-08            # optional: a loan that reverts automatically
force: [ResourceQuota team-search/gpu-ledger]
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from accounting.metering.reads.resources import added_names
from accounting.setup.tasks.fields import FileContext, Instant, Section, Text, existing
from accounting.setup.tasks.yaml_lines import DocumentError, Fault, parse, plain
from scheduler_view.changes.rules.edit import Draft, EditsRefused
from scheduler_view.changes.rules.given_edit import edits_from

_NAMES = {"split": "rule", "default": "is_default"}  # names of the split rules in files


class _Sections(Section):
    """The file; each quota, tier and queue is checked as an edit."""

    cluster: Annotated[Text, existing("cluster", "known: {known}")]
    reason: Annotated[Text, Field(max_length=200)]
    quotas: tuple[dict[str, Any], ...] = ()
    tiers: tuple[dict[str, Any], ...] = ()
    queues: tuple[dict[str, Any], ...] = ()
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    force: tuple[Annotated[Text, Field(max_length=400)], ...] = ()

    @field_validator("quotas", "tiers", "queues")
    @classmethod
    def _has_no_kind(
        cls, items: tuple[dict[str, Any], ...]
    ) -> tuple[dict[str, Any], ...]:
        if any("kind" in one for one in items):
            raise ValueError("'kind' is not allowed here; the section determines it")
        return items


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """The change in a file, and its cluster."""

    cluster: str
    draft: Draft


def read_change(
    text: str, *, clusters: Collection[str], timezone: str = "UTC"
) -> ChangeFile:
    """A validated change from YAML.

    Args:
        text: the file.
        clusters: existing names.
        timezone: of dates without a time.

    Raises:
        DocumentError: all faults of the file, each with its line.
    """
    document = parse(text)
    known = FileContext(ZoneInfo(timezone), {"cluster": clusters})
    wanted = document.read(_Sections, known)
    items = {
        **{("quotas", i): _edit(one, "quota") for i, one in enumerate(wanted.quotas)},
        **{("tiers", i): _edit(one, "tier") for i, one in enumerate(wanted.tiers)},
        **{("queues", i): _edit(one, "queue") for i, one in enumerate(wanted.queues)},
    }
    try:
        edits = edits_from([*items.values()], added_names())
    except EditsRefused as error:
        places: list[tuple[str | int, ...]] = [*items] or [()]
        raise DocumentError(
            [
                Fault(
                    document.line((*places[one.index], _written(one.field))),
                    f"{one.field}: {one.text}",
                )
                for one in error.faults
            ]
        ) from error
    draft = Draft(
        edits,
        wanted.reason,
        forced=wanted.force,
        starts_at=wanted.starts_at,
        ends_at=wanted.ends_at,
    )
    return ChangeFile(wanted.cluster, draft)


def line_fault(text: str, section: str, message: str) -> Fault:
    """A fault that was found later, at the line of its section."""
    return Fault(parse(text).line((section,)), message)


def _edit(item: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    values = {_NAMES.get(name, name): plain(value) for name, value in item.items()}
    return values | {"kind": kind}


def _written(name: str) -> str:
    return next((theirs for theirs, ours in _NAMES.items() if ours == name), name)
