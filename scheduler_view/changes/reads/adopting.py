"""Edits with which GPU Ledger takes over limits that others set; no number changes.

A quota is adopted by namespace: GPU Ledger's own object gets the number that the other one has,
and namespaces of the team without a quota stay without one (docs/quotas.md, "Adopting"). A class
becomes a tier with its name, a queue's numbers become desired values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_view.changes.reads.change_row import ChangeRow
from scheduler_view.clusters.reads.last_observation import Manifest
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.quotas.reads.limits.limit_row import LimitRow, edit_key
from scheduler_view.quotas.reads.limits.namespace_limits import tier_of_quota
from scheduler_view.quotas.reads.limits.observed import ObservedLimits
from scheduler_view.quotas.rules.quota_objects import class_key_of, quota_key_of
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import NEVER

QuotaKey = tuple[str, str, str]  # team, resource, tier


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a change set that adopts needs.

    Attributes:
        edits: as in the API.
        forced: objects that get GPU Ledger's label though others made them.
        makers: who set what is adopted.
    """

    edits: Sequence[dict[str, Any]] = ()
    forced: Sequence[str] = ()
    makers: Sequence[str] = field(default_factory=tuple)


def adoption(seen: ObservedLimits, rows: Iterable[LimitRow]) -> Adoption:
    """The edits that adopt some limits of one cluster, each with its number.

    Args:
        seen: the cluster.
        rows: its limits; those that cannot be adopted are left out.
    """
    asked = [row for row in rows if row.adopts]
    live = {
        (kind, namespace, name): manifest
        for kind, own in seen.objects.items()
        for namespace, name, manifest in own
    }
    quotas = [row for row in asked if row.kind == QUOTA]
    classes = [row for row in asked if row.kind == CLASS]
    queues = [row for row in asked if row.kind in QUEUE_FIELDS]
    forced = {str(class_key_of(row.name)) for row in classes}
    for row in quotas:
        tier = tier_of_quota(seen, live[row.kind, row.namespace, row.name]) or ""
        own = quota_key_of(row.namespace, tier)
        if own == ObjectKey(QUOTA, row.namespace, row.name):
            forced.add(str(own))
    return Adoption(
        [
            *_quota_edits(seen, quotas, live),
            *(_class_edit(live[CLASS, "", row.name]) for row in classes),
            *_queue_edits(queues, live),
        ],
        sorted(forced),
        list(dict.fromkeys(row.set_by for row in asked if row.set_by)),
    )


def adopted_by(change: ChangeRow) -> set[str]:
    """The keys of the limits that a change set takes over, or sets anyway (`edit_key`)."""
    found = set()
    for edit in change.edits:
        kind, cluster = edit.get("kind"), change.cluster
        if kind == "quota":
            resource = str(edit.get("resource"))
            places = edit.get("weights") or {}
            found |= {edit_key(cluster, QUOTA, place, resource) for place in places}
        elif kind == "queue":
            place = str(edit.get("object")), "", str(edit.get("name"))
            found.add(edit_key(cluster, *place))
        else:
            name = edit.get("class_name") or edit.get("name")
            found.add(edit_key(cluster, CLASS, "", str(name)))
    return found


def _quota_edits(
    seen: ObservedLimits,
    rows: Sequence[LimitRow],
    live: Mapping[tuple[str, str, str], Manifest],
) -> list[dict[str, Any]]:
    """One edit for each team, resource and tier: present namespaces keep their number."""
    targets = {(one.team.slug, one.resource, one.tier): one for one in seen.targets}
    # A namespace that has left the team is not a part of its quota any more.
    present = {
        key: {
            name: gpus
            for name, gpus in target.split.items()
            if name in seen.teams and seen.teams[name].slug == key[0]
        }
        for key, target in targets.items()
    }
    parts: dict[QuotaKey, dict[str, int]] = {}
    for row in rows:
        tier = tier_of_quota(seen, live[row.kind, row.namespace, row.name])
        number = gpus_or_none(row.limit)
        if tier is None or number is None:
            continue
        key = (row.team, row.resource, tier)
        own = parts.setdefault(key, dict(present.get(key, {})))
        # Of several quotas of a namespace, the lowest applies.
        own[row.namespace] = min(number, own.get(row.namespace, number))
    return [
        {
            "kind": "quota",
            "team": team,
            "resource": resource,
            "tier": tier,
            "gpus": sum(split.values()),
            "rule": SplitRule.LISTED.value,
            "weights": split,
            "version": targets[team, resource, tier].version
            if (team, resource, tier) in targets
            else 0,
        }
        for (team, resource, tier), split in sorted(parts.items())
    ]


def _class_edit(live: Manifest) -> dict[str, Any]:
    name = live["metadata"]["name"]
    return {
        "kind": "tier",
        "name": name,
        "value": live["value"],
        "preempts": live.get("preemptionPolicy") != NEVER,
        "is_default": bool(live.get("globalDefault")),
        "description": str(live.get("description") or ""),
        "class_name": name,
        "version": 0,
    }


def _queue_edits(
    rows: Sequence[LimitRow], live: Mapping[tuple[str, str, str], Manifest]
) -> list[dict[str, Any]]:
    """Every field of a part that is set, with its value."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        fields = QUEUE_FIELDS[row.kind]
        manifest = live[row.kind, "", row.name]
        part = "/".join(one for one in (row.part, row.resource) if one)
        for name, value in fields.values(manifest).items():
            is_own = row.is_class or name.startswith(f"{part or 'gpu'}/")
            if value is not None and is_own:
                found[row.kind, row.name, name] = {
                    "kind": "queue",
                    "object": row.kind,
                    "name": row.name,
                    "field": name,
                    "value": value,
                    "version": 0,
                }
    return list(found.values())
