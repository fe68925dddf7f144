"""Quotas and priority classes of recorded cases that GPU Ledger owns, and its edits of them.

GPU Ledger names its own objects (`scheduler_view/quotas/rules/quota_objects.py`), so a recorded
quota that it can own is not adopted: the case is built with the names of GPU Ledger, and change
sets create the quota before the pods and raise it later. A recorded class that a scope names, or
that is missing, is the first class of a tier. `CANNOT_BE_OWNED` has the quotas that an
administrator makes and raises.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.quotas.rules.quota_objects import quota_key_of
from tests.control_plane.recorded_case import Manifest, RecordedCase

Edit = dict[str, Any]
CANNOT_BE_OWNED = {
    "quota-of-cpu": "GPU Ledger sets keys of GPUs only, not requests.cpu"
}
"""By case, why its quota is not GPU Ledger's."""


@dataclass(frozen=True)
class OwnedObjects:
    """What GPU Ledger owns of one case.

    Attributes:
        quotas: the tier by the namespace and name of the quota; "" for the pods of all tiers.
        made: edits that create what was recorded.
        tiers: by the name of the class, the tier that has it.
    """

    quotas: Mapping[tuple[str, str], str] = field(default_factory=dict)
    made: tuple[Edit, ...] = ()
    tiers: Mapping[str, str] = field(default_factory=dict)

    def edit_for(self, case: RecordedCase, change: Mapping[str, Any]) -> Edit | None:
        """The edit that carries out a change of a case; None if GPU Ledger cannot do it."""
        if change["change"] == "create_priority_class":
            return _tier(self.tiers[change["name"]], 1000)
        if change["change"] != "raise_quota":
            return None
        namespace, _, name = change["quota"].partition("/")
        tier = self.quotas.get((namespace, name))
        if tier is None:
            return None
        key = case.expected["quota"]["key"]
        return _quota(namespace, key, int(change["to"]), tier)


def owned(case: RecordedCase) -> tuple[RecordedCase, OwnedObjects]:
    """The case with the names of GPU Ledger, without the objects that its change sets create."""
    case, tiers = _with_classes_of_tiers(case)
    quotas: dict[tuple[str, str], str] = {}
    edits = [_tier(tiers[name], value) for name, value in _values(case, tiers)]
    renamed: dict[str, str] = {}
    for one in case.objects.get("ResourceQuota", ()):
        tier = _tier_of(one, case, tiers)
        if tier is None:
            continue
        namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
        renamed[name] = quota_key_of(namespace, tier).name
        quotas[namespace, renamed[name]] = tier
        edits += [
            _quota(namespace, key, int(gpus), tier)
            for key, gpus in one["spec"]["hard"].items()
        ]
    done = _without({*renamed, *tiers}, _with_quotas(case, renamed))
    return done, OwnedObjects(quotas, tuple(edits), tiers)


def _with_classes_of_tiers(case: RecordedCase) -> tuple[RecordedCase, dict[str, str]]:
    """The case with the class of a scope, or the missing one, as the first of a tier."""
    scopes = case.expected.get("quota", {}).get("scope", {})
    names = list(scopes.get("PriorityClass", ()))
    if case.expected["cause"] == "priority_class_missing":
        names.append(case.expected["missing"])
    tiers = {}
    for name in names:
        tiers[f"{name}-v1"] = name
        pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w.-])"

        def first(
            value: object, pattern: str = pattern, new: str = f"{name}-v1"
        ) -> Any:
            return json.loads(re.sub(pattern, new, json.dumps(value)))

        case = replace(
            case,
            did=first(case.did),
            objects=first(case.objects),
            expected=first(case.expected),
        )
    return case, tiers


def _values(case: RecordedCase, tiers: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for one in case.objects.get("PriorityClass", ()):
        if one["metadata"]["name"] in tiers:
            yield one["metadata"]["name"], one["value"]


def _tier_of(
    quota: Manifest, case: RecordedCase, tiers: Mapping[str, str]
) -> str | None:
    """The tier of a quota that GPU Ledger can own; None for another one."""
    spec = quota["spec"]
    if not all(resource_of(key, case.resources) for key in spec["hard"]):
        return None
    scope = spec.get("scopeSelector", {}).get("matchExpressions", [])
    if not scope:
        return None if "scopes" in spec else ""
    [term] = scope
    return tiers.get(term["values"][0]) if term["operator"] == "In" else None


def _with_quotas(case: RecordedCase, renamed: Mapping[str, str]) -> RecordedCase:
    """The expected explanation with other names of quotas."""
    expected = json.loads(json.dumps(case.expected))
    quota = expected.get("quota", {})
    if quota.get("name") in renamed:
        quota["name"] = renamed[quota["name"]]
    for change in expected["starts_if"]:
        namespace, _, name = change.get("quota", "").partition("/")
        if name in renamed:
            change["quota"] = f"{namespace}/{renamed[name]}"
    return replace(case, expected=expected)


def _without(names: set[str], case: RecordedCase) -> RecordedCase:
    """Without the steps that create these quotas and classes."""
    kinds = ("ResourceQuota", "PriorityClass")
    did = [
        one for one in case.did if one["kind"] not in kinds or one["name"] not in names
    ]
    return replace(case, did=did)


def _quota(namespace: str, key: str, gpus: int, tier: str) -> Edit:
    """A quota of the team that has the namespace, and its name."""
    edit = {"kind": "quota", "team": namespace, "resource": key, "gpus": gpus}
    return edit | ({"tier": tier} if tier else {})


def _tier(name: str, value: int) -> Edit:
    return {"kind": "tier", "name": name, "value": value}
