"""The result of a change set: desired quotas and tiers with its edits applied."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from accounting.models import Cluster, Team
from scheduler_view.domain.objects.desired import DesiredQuota
from scheduler_view.domain.plan.edit import (
    Edit,
    EditFault,
    EditsRefused,
    QuotaEdit,
    TierEdit,
)
from scheduler_view.domain.quotas.split import SplitRefused, SplitSpec, divide
from scheduler_view.domain.tiers.tier import (
    TierState,
    default_faults,
    next_class,
)
from scheduler_view.mapping import target_of, tier_of
from scheduler_view.models import QuotaTarget, Tier

TargetKey = tuple[str, str, str]  # team, resource, tier


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All desired quotas and tiers of one cluster."""

    targets: Mapping[TargetKey, DesiredQuota]
    tiers: Mapping[str, TierState]


@dataclass(frozen=True, slots=True)
class DesiredChange:
    """Before and after.

    Attributes:
        rules: how each edited quota was divided, as text.
        reverse: the edits that undo the change.
    """

    before: DesiredState
    after: DesiredState
    rules: Mapping[TargetKey, str] = field(default_factory=dict)
    reverse: Sequence[Edit] = ()


@dataclass(frozen=True, slots=True)
class Classes:
    """PriorityClasses of a cluster that tiers depend on.

    Attributes:
        same: for each edited tier, its classes with the desired value and policy.
        taken: existing names.
        foreign_defaults: default classes that are not ours.
    """

    taken: Collection[str] = ()
    same: Mapping[str, Collection[str]] = field(default_factory=dict)
    foreign_defaults: Collection[str] = ()


class LostUpdate(Exception):
    """Another person changed the base of these edits; the message has the current value."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


def desired_of(cluster: Cluster, teams: Collection[str] | None = None) -> DesiredState:
    """The current desired state, of all teams or of some; two queries."""
    targets = QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    if teams is not None:
        targets = targets.filter(team__slug__in=teams)
    found = [target_of(row) for row in targets]
    tiers = [tier_of(row) for row in Tier.objects.filter(cluster=cluster)]
    return DesiredState(
        {(one.team, one.resource, one.tier): one for one in found},
        {tier.spec.name: tier for tier in tiers},
    )


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
                text = f"{edit.team!r} is not a team slug"
                faults.append(EditFault(index, "team", text))
            if edit.tier and edit.tier not in tiers:
                text = f"{edit.tier!r} is not a tier in {cluster}"
                faults.append(EditFault(index, "tier", text))
        elif edit.remove and edit.key not in versions:
            text = f"{edit.spec.name!r} is not a tier in {cluster}"
            faults.append(EditFault(index, "name", text))
    if faults:
        raise EditsRefused(faults)
    lost = lost_updates(cluster, [e for e in edits if e.version is not None], versions)
    if lost:
        raise LostUpdate(lost)
    return [replace(edit, version=versions.get(edit.key, 0)) for edit in edits]


def teams_of(edits: Iterable[Edit]) -> set[str]:
    """Slugs of the teams in edits."""
    return {edit.team for edit in edits if isinstance(edit, QuotaEdit)}


def versions_of(cluster: Cluster, edits: Iterable[Edit]) -> dict[tuple[str, ...], int]:
    """The version of each tier and of the quotas of the named teams, by key of edit."""
    quotas = QuotaTarget.objects.filter(
        cluster=cluster, team__slug__in=teams_of(edits)
    ).values_list("team__slug", "resource", "tier", "version")
    tiers = Tier.objects.filter(cluster=cluster).values_list("name", "version")
    found: dict[tuple[str, ...], int] = {
        (team, resource, tier): version for team, resource, tier, version in quotas
    }
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


def desired_change(
    cluster: Cluster,
    edits: Sequence[Edit],
    namespaces: Mapping[str, Sequence[str]],
    peaks: Mapping[TargetKey, Mapping[str, int]],
    classes: Classes,
) -> DesiredChange:
    """Before and after of edits.

    Args:
        cluster: of the edits.
        edits: validated.
        namespaces: of each team, by its slug.
        peaks: the maximum that each namespace held, for quotas that are divided by use.
        classes: of the cluster.

    Raises:
        EditsRefused: a quota that cannot be divided, a second default, a tier in use.
    """
    before = desired_of(cluster)
    targets, tiers = dict(before.targets), dict(before.tiers)
    rules: dict[TargetKey, str] = {}
    faults: list[EditFault] = []
    for index, edit in enumerate(edits):
        if isinstance(edit, TierEdit):
            _lay_tier(edit, tiers, classes)
            continue
        if edit.gpus is None:
            targets.pop(edit.key, None)
            continue
        try:
            split, message = _divided(edit, namespaces, peaks)
        except SplitRefused as error:
            faults.append(EditFault(index, "team", str(error)))
            continue
        rules[edit.key] = message
        targets[edit.key] = DesiredQuota(
            edit.team, edit.resource, edit.tier, edit.gpus, split
        )
    after = DesiredState(targets, tiers)
    faults += _together(edits, after, classes)
    if faults:
        raise EditsRefused(faults)
    return DesiredChange(before, after, rules, _reverse(cluster, edits, before))


def _lay_tier(edit: TierEdit, tiers: dict[str, TierState], classes: Classes) -> None:
    name, known = edit.spec.name, tiers.get(edit.spec.name)
    if edit.remove:
        tiers.pop(name, None)
        return
    is_kept = known is not None and (
        (known.spec.value, known.spec.policy) == (edit.spec.value, edit.spec.policy)
        or edit.in_place
    )
    if known is not None and is_kept:
        tiers[name] = TierState(edit.spec, known.classes)
        return
    old = list(known.classes) if known else []
    current = next_class(edit.spec, {*classes.taken, *old}, classes.same.get(name, ()))
    tiers[name] = TierState(edit.spec, [current, *(o for o in old if o != current)])


def _divided(
    edit: QuotaEdit,
    namespaces: Mapping[str, Sequence[str]],
    peaks: Mapping[TargetKey, Mapping[str, int]],
) -> tuple[Mapping[str, int], str]:
    own = namespaces.get(edit.team, ())
    if edit.split is not None and set(edit.split) <= set(own):
        return edit.split, "as it was before"
    split = divide(
        edit.gpus or 0,
        own,
        SplitSpec(edit.rule, edit.weights),
        peaks.get(edit.key),
    )
    return split.parts, split.message


def _together(
    edits: Sequence[Edit], after: DesiredState, classes: Classes
) -> list[EditFault]:
    """Reject edits that cannot be combined."""
    faults = []
    for index, edit in enumerate(edits):
        if not isinstance(edit, TierEdit) or not edit.remove:
            continue
        users = sorted(
            {t.team for t in after.targets.values() if t.tier == edit.key[0]}
        )
        if users:
            text = (
                f"{edit.spec.name!r} has quotas of {', '.join(users)}: remove them too"
            )
            faults.append(EditFault(index, "remove", text))
    if any(isinstance(e, TierEdit) and e.spec.is_default for e in edits):
        specs = [tier.spec for tier in after.tiers.values()]
        texts = default_faults(specs, classes.foreign_defaults)
        faults += [EditFault(0, "is_default", text) for text in texts]
    return faults


def _reverse(
    cluster: Cluster, edits: Sequence[Edit], before: DesiredState
) -> list[Edit]:
    """Edits that restore the current state; their versions are set when stored."""
    rows = {
        (row.team.slug, row.resource, row.tier): row
        for row in QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    }
    found: list[Edit] = []
    for edit in edits:
        if isinstance(edit, TierEdit):
            known = before.tiers.get(edit.spec.name)
            spec = known.spec if known else edit.spec
            found.append(
                TierEdit(spec, remove=known is None, in_place=edit.in_place)
                if known is not None or not edit.remove
                else edit
            )
            continue
        row = rows.get(edit.key)
        if row is None:
            found.append(replace(edit, gpus=None, split=None, version=None))
        else:
            found.append(
                replace(
                    edit,
                    gpus=row.gpus,
                    rule=type(edit.rule)(row.rule),
                    weights=row.weights,
                    split=row.split,
                    version=None,
                )
            )
    return found


def _spoken(edit: Edit, desired: DesiredState) -> tuple[str, str]:
    if isinstance(edit, TierEdit):
        tier = desired.tiers.get(edit.spec.name)
        value = f"value {tier.spec.value}" if tier else "not there"
        return f"tier {edit.spec.name}", value
    target = desired.targets.get(edit.key)
    tier_text = f" in tier {edit.tier}" if edit.tier else ""
    value = f"{target.gpus}" if target else "without a quota"
    return f"the quota of {edit.team} for {edit.resource}{tier_text}", value
