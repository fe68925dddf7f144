"""The result of a change set: desired quotas, tiers and queues with its edits applied."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.rules.edit import (
    Edit,
    EditFault,
    EditsRefused,
    QueueEdit,
    QuotaEdit,
    TierEdit,
)
from scheduler_view.quotas.mapping import target_of, tier_of
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier
from scheduler_view.quotas.rules.quota_objects import DesiredQuota
from scheduler_view.quotas.rules.split import SplitRefused, SplitRule, divide
from scheduler_view.quotas.rules.tiers import TierState, default_faults, next_class

TargetKey = tuple[str, str, str]  # team, resource, tier
QueueKey = tuple[str, str, str]  # kind, name, field


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All desired quotas, tiers and fields of queues of one cluster."""

    targets: Mapping[TargetKey, DesiredQuota]
    tiers: Mapping[str, TierState]
    queues: Mapping[QueueKey, str | None] = field(default_factory=dict)


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
        desired_queues(cluster),
    )


def desired_queues(cluster: Cluster) -> dict[QueueKey, str | None]:
    """Desired fields of queues of one cluster."""
    rows = QueueTarget.objects.filter(cluster=cluster)
    columns = rows.values_list("kind", "name", "field", "value")
    return {(kind, name, field): value for kind, name, field, value in columns}


def desired_change(
    cluster: Cluster,
    edits: Sequence[Edit],
    namespaces: Mapping[str, Sequence[str]],
    peaks: Mapping[TargetKey, Mapping[str, int]],
    classes: Classes,
    live_queues: Mapping[QueueKey, str | None] | None = None,
) -> DesiredChange:
    """Before and after of edits.

    Args:
        cluster: of the edits.
        edits: validated.
        namespaces: of each team, by its slug.
        peaks: the maximum that each namespace held, for quotas that are divided by use.
        classes: of the cluster.
        live_queues: values in the cluster of the edited fields that do not lose their present
            value when they are released.

    Raises:
        EditsRefused: a quota that cannot be divided, a second default, a tier in use.
    """
    before = desired_of(cluster)
    targets, tiers = dict(before.targets), dict(before.tiers)
    queues = dict(before.queues)
    rules: dict[TargetKey, str] = {}
    faults: list[EditFault] = []
    for index, edit in enumerate(edits):
        if isinstance(edit, TierEdit):
            _lay_tier(edit, tiers, classes)
            continue
        if isinstance(edit, QueueEdit):
            _lay_queue(edit, queues)
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
    after = DesiredState(targets, tiers, queues)
    faults += _together(edits, after, classes)
    if faults:
        raise EditsRefused(faults)
    reverse = _reverse(cluster, edits, before, live_queues or {})
    return DesiredChange(before, after, rules, reverse)


def _lay_queue(edit: QueueEdit, queues: dict[QueueKey, str | None]) -> None:
    key = (edit.object, edit.name, edit.field)
    if edit.release:
        queues.pop(key, None)
    else:
        queues[key] = edit.value


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
    if known is None and edit.classes:
        tiers[name] = TierState(edit.spec, edit.classes)
        return
    if known is None and edit.class_name:
        tiers[name] = TierState(edit.spec, [edit.class_name])
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
    rule = edit.split_rule
    given = peaks.get(edit.key) if rule == SplitRule.BY_USE else edit.weights
    return divide(edit.gpus or 0, own, rule, given)


def _together(
    edits: Sequence[Edit], after: DesiredState, classes: Classes
) -> list[EditFault]:
    """Reject edits that cannot be combined."""
    faults = []
    for index, edit in enumerate(edits):
        if not isinstance(edit, TierEdit):
            continue
        tier = after.tiers.get(edit.spec.name)
        if edit.class_name and tier and edit.class_name not in tier.classes:
            text = f"{edit.spec.name!r} exists with the class {tier.class_name}"
            faults.append(EditFault(index, "class_name", text))
        if not edit.remove:
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
    cluster: Cluster,
    edits: Sequence[Edit],
    before: DesiredState,
    live_queues: Mapping[QueueKey, str | None],
) -> list[Edit]:
    """Edits that restore the current state; their versions are set when stored."""
    rows = {
        (row.team.slug, row.resource, row.tier): row
        for row in QuotaTarget.objects.filter(cluster=cluster).select_related("team")
    }
    found: list[Edit] = []
    for edit in edits:
        if isinstance(edit, QueueEdit):
            found.append(_reverse_queue(edit, before, live_queues))
            continue
        if isinstance(edit, TierEdit):
            known = before.tiers.get(edit.spec.name)
            found.append(_reverse_tier(edit, known))
            continue
        row = rows.get(edit.key)
        if row is None:
            found.append(replace(edit, gpus=None, split=None, version=None))
        else:
            found.append(
                replace(
                    edit,
                    gpus=row.gpus,
                    rule=SplitRule(row.rule),
                    weights=row.weights,
                    split=row.split,
                    version=None,
                )
            )
    return found


def _reverse_tier(edit: TierEdit, known: TierState | None) -> TierEdit:
    if known is None:
        return edit if edit.remove else TierEdit(edit.spec, remove=True)
    classes = tuple(known.classes) if edit.remove else ()
    return TierEdit(known.spec, in_place=edit.in_place, classes=classes)


def _reverse_queue(
    edit: QueueEdit,
    before: DesiredState,
    live_queues: Mapping[QueueKey, str | None],
) -> QueueEdit:
    """The desired value before; if there was none, the one in the cluster, then not managed."""
    key = (edit.object, edit.name, edit.field)
    if key in before.queues:
        value, release = before.queues[key], False
    else:
        value, release = live_queues.get(key), True
    return replace(edit, value=value, release=release, version=None)
