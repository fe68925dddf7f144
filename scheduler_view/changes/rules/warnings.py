"""The warnings of a plan: parts that may not work as expected, with their object."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scheduler_view.changes.rules.steps import Action, Observed, PlanStep
from scheduler_view.clusters.rules.live_objects import (
    CLASS,
    Manifest,
    git_owner,
    is_ours,
)
from scheduler_view.clusters.rules.quantity import gpus_or_none
from scheduler_view.clusters.rules.quota_key import (
    NONE_ADDED,
    Added,
    does_nothing,
    is_mig,
    resource_of,
)
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.clusters.rules.wording import listed
from scheduler_view.quotas.rules import limit_range


class WarningCode(StrEnum):
    """The subject of a warning."""

    GIT_OWNER = "git_owner"
    OTHER_MANAGER = "other_manager"
    KEY_DOES_NOTHING = "key_does_nothing"
    UNCOVERED_KEY = "uncovered_key"
    TIGHTER_QUOTA = "tighter_quota"
    SECOND_DEFAULT = "second_default"
    LIMIT_RANGE = "limit_range"
    LIMITED_TWICE = "limited_twice"
    QUEUE_RULE = "queue_rule"


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """One sentence.

    Attributes:
        about: the object that it names; empty for the whole cluster.
        namespace: of that object; empty for the whole cluster.
    """

    code: WarningCode
    text: str
    about: str = ""
    namespace: str = ""


def object_warnings(steps: Iterable[PlanStep], observed: Observed) -> list[PlanWarning]:
    """Other managers, and tools that would restore the old value."""
    found = []
    for step in steps:
        live = observed.objects.get(step.key)
        if live is None or step.action == Action.KEEP:
            continue
        place = str(step.key), step.key.namespace
        tool = git_owner(live)
        if tool:
            text = (
                f"{step.key} is managed by {tool}, which will restore the value from Git. Change "
                "it there as well."
            )
            found.append(PlanWarning(WarningCode.GIT_OWNER, text, *place))
        for name, managers in step.others.items():
            change = next((c for c in step.changes if c.field == name), None)
            if change is None or tool or step.key.kind in QUEUE_FIELDS:
                continue  # a queue's plan says why it is blocked
            text = (
                f"{name} of {step.key} is also managed by {', '.join(managers)} with the value "
                f"{change.before}. The change is rejected unless you select the object."
            )
            found.append(PlanWarning(WarningCode.OTHER_MANAGER, text, *place))
    return found


def namespace_warnings(
    namespace: str,
    limited: Mapping[str, int],
    quotas: Sequence[Manifest],
    offered: Iterable[str],
    added: Added = NONE_ADDED,
) -> list[PlanWarning]:
    """Limits that quotas of one namespace do not enforce.

    Args:
        namespace: its name.
        limited: GPUs by resource after this change set, for all tiers.
        quotas: every live quota of the namespace.
        offered: GPU resources that nodes of the cluster have.
        added: resources that an administrator added.
    """
    found = []
    covered = set(limited)
    for quota in quotas:
        hard = (quota.get("spec") or {}).get("hard") or {}
        name = quota["metadata"]["name"]
        for key, value in sorted(hard.items()):
            if why := does_nothing(key, added):
                text = f"{name} in {namespace}: {why}."
                found.append(
                    PlanWarning(WarningCode.KEY_DOES_NOTHING, text, name, namespace)
                )
                continue
            resource, number = resource_of(key, added), gpus_or_none(value)
            if resource is None:
                continue
            covered.add(resource)
            is_tighter = number is not None and number < limited.get(resource, -1)
            if is_tighter and not is_ours(quota):
                text = (
                    f"{name} in {namespace}, which GPU Ledger does not manage, allows only "
                    f"{number} of {resource}. The lowest quota applies."
                )
                found.append(
                    PlanWarning(WarningCode.TIGHTER_QUOTA, text, name, namespace)
                )
    if any(not is_mig(resource) for resource in limited):
        bare = sorted(
            resource for resource in set(offered) - covered if is_mig(resource)
        )
        if bare:
            verb = "is" if len(bare) == 1 else "are"
            text = (
                f"{listed(bare)} {verb} not limited in {namespace}: a quota of whole "
                "GPUs does not count MIG devices."
            )
            found.append(
                PlanWarning(WarningCode.UNCOVERED_KEY, text, namespace, namespace)
            )
    return found


def limit_range_warnings(
    namespace: str,
    items: Sequence[Mapping[str, Any]],
    added: Added = NONE_ADDED,
) -> list[PlanWarning]:
    """Effects of a namespace's LimitRanges on pods without GPUs."""
    found = []
    for resource in sorted(limit_range.ranged_resources(items, added)):
        text = limit_range.message(
            limit_range.predict(items, resource, added), namespace, resource
        )
        if text:
            found.append(
                PlanWarning(WarningCode.LIMIT_RANGE, text, namespace, namespace)
            )
    return found


def second_default(classes: Iterable[Manifest]) -> list[PlanWarning]:
    """Default classes of other managers, if a plan sets another default."""
    return [
        PlanWarning(
            WarningCode.SECOND_DEFAULT,
            f"{one['metadata']['name']} is already the cluster's default class and is not "
            "managed by GPU Ledger. Kubernetes allows only one.",
            f"{CLASS} {one['metadata']['name']}",
        )
        for one in classes
        if one.get("globalDefault") and not is_ours(one)
    ]
