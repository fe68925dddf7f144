"""The base versions of edits: of two changes with the same one, only one succeeds (I15)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.rules.edit import (
    Edit,
    EditFault,
    EditsRefused,
    QueueEdit,
    QuotaEdit,
    TierEdit,
)
from scheduler_view.changes.tasks.desired_state import DesiredState, desired_of
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier
from scheduler_view.quotas.rules.split import SplitRule


class LostUpdate(Exception):
    """Another person changed the base of these edits; the message has the current value."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


def with_versions(cluster: Cluster, edits: Sequence[Edit]) -> list[Edit]:
    """Edits with their base version; rejects edits that are not valid.

    Raises:
        EditsRefused: an unknown team or tier.
        LostUpdate: an edit names a version that is not the current one.
    """
    versions = versions_of(cluster, edits)
    named = teams_of(edits)
    teams = set(Team.objects.filter(slug__in=named).values_list("slug", flat=True))
    tiers = {key[0] for key in versions if len(key) == 1}
    tiers |= {e.spec.name for e in edits if isinstance(e, TierEdit) and not e.remove}
    faults = []
    for index, edit in enumerate(edits):
        if isinstance(edit, QuotaEdit):
            if edit.team not in teams:
                text = f"{edit.team!r} is not the short name of a team"
                faults.append(EditFault(index, "team", text))
            if edit.tier and edit.tier not in tiers:
                text = f"{edit.tier!r} is not a tier in {cluster}"
                faults.append(EditFault(index, "tier", text))
        elif isinstance(edit, TierEdit) and edit.remove and edit.key not in versions:
            text = f"{edit.spec.name!r} is not a tier in {cluster}"
            faults.append(EditFault(index, "name", text))
    if faults:
        raise EditsRefused(faults)
    lost = lost_updates(cluster, [e for e in edits if e.version is not None], versions)
    if lost:
        raise LostUpdate(lost)
    rules = _rules(cluster, edits)
    return [
        replace(edit, version=versions.get(edit.key, 0), **rules.get(edit.key, {}))
        for edit in edits
    ]


def _rules(
    cluster: Cluster, edits: Iterable[Edit]
) -> dict[tuple[str, ...], dict[str, Any]]:
    """The division of present quotas whose edits give none: a new number keeps it."""
    asked = {
        edit.key
        for edit in edits
        if isinstance(edit, QuotaEdit) and edit.rule is None and not edit.weights
    }
    rows = QuotaTarget.objects.filter(
        cluster=cluster, team__slug__in={key[0] for key in asked}
    ).values_list("team__slug", "resource", "tier", "rule", "weights")
    return {
        (team, resource, tier): {"rule": SplitRule(rule), "weights": weights}
        for team, resource, tier, rule, weights in rows
        if (team, resource, tier) in asked
    }


def teams_of(edits: Iterable[Edit]) -> set[str]:
    """Slugs of the teams in edits."""
    return {edit.team for edit in edits if isinstance(edit, QuotaEdit)}


def versions_of(cluster: Cluster, edits: Iterable[Edit]) -> dict[tuple[str, ...], int]:
    """The version of each tier, queue field and quota of the named teams, by key of edit."""
    quotas = QuotaTarget.objects.filter(
        cluster=cluster, team__slug__in=teams_of(edits)
    ).values_list("team__slug", "resource", "tier", "version")
    tiers = Tier.objects.filter(cluster=cluster).values_list("name", "version")
    found: dict[tuple[str, ...], int] = {
        (team, resource, tier): version for team, resource, tier, version in quotas
    }
    queues = QueueTarget.objects.filter(cluster=cluster).values_list(
        "kind", "name", "field", "version"
    )
    found |= {("queue", *key): version for *key, version in queues}
    return found | {(name,): version for name, version in tiers}


def lost_updates(
    cluster: Cluster,
    edits: Sequence[Edit],
    versions: Mapping[tuple[str, ...], int] | None = None,
) -> list[str]:
    """Edits whose base version is outdated, as sentences; empty if all are current."""
    now = versions_of(cluster, edits) if versions is None else versions
    desired: DesiredState | None = None
    found = []
    for edit in edits:
        version = now.get(edit.key, 0)
        if version == edit.version:
            continue
        desired = desired or desired_of(cluster, teams_of(edits))
        what, value = _spoken(edit, desired)
        by = f"by CS-{version} since" if version else "since"
        found.append(f"{what} was changed {by}: it is {value} now")
    return found


def _spoken(edit: Edit, desired: DesiredState) -> tuple[str, str]:
    if isinstance(edit, TierEdit):
        tier = desired.tiers.get(edit.spec.name)
        value = f"value {tier.spec.value}" if tier else "not there"
        return f"tier {edit.spec.name}", value
    if isinstance(edit, QueueEdit):
        key = (edit.object, edit.name, edit.field)
        value = str(desired.queues[key]) if key in desired.queues else "not managed"
        return f"{edit.field} of {edit.name}", value
    target = desired.targets.get(edit.key)
    tier_text = f" in tier {edit.tier}" if edit.tier else ""
    value = f"{target.gpus}" if target else "without a quota"
    return f"the quota of {edit.team} for {edit.resource}{tier_text}", value
