"""Changes of what pods require, as a person edits a manifest (scheduling.md S13)."""

from collections.abc import Mapping
from typing import Any

from tests.control_plane.recorded_case import Manifest

Change = Mapping[str, Any]


def drop_selector(spec: Manifest, change: Change) -> None:
    del spec["nodeSelector"][change["key"]]


def tolerate(spec: Manifest, change: Change) -> None:
    own = dict(change["taint"]) | {"operator": "Equal"}
    spec["tolerations"] = [*spec.get("tolerations", []), own]


def drop_affinity(spec: Manifest, change: Change) -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = spec["affinity"]["nodeAffinity"][key]["nodeSelectorTerms"]
    for term in terms:
        term["matchExpressions"] = [
            one for one in term["matchExpressions"] if one["key"] != change["key"]
        ]
    if not all(term["matchExpressions"] for term in terms):
        del spec["affinity"]["nodeAffinity"]


def relax_spread(spec: Manifest, change: Change) -> None:
    spec["topologySpreadConstraints"] = [
        one
        for one in spec["topologySpreadConstraints"]
        if one["topologyKey"] != change["key"]
    ]


def at_most(resources: Manifest, change: Change) -> None:
    for found in resources.values():
        if change["resource"] in found:
            found[change["resource"]] = change["to"]


def at_least(resources: Manifest, change: Change) -> None:
    resources["requests"][change["resource"]] = change["to"]


def set_limit(resources: Manifest, change: Change) -> None:
    resources["limits"][change["resource"]] = change["to"]


def add_request(resources: Manifest, change: Change) -> None:
    is_limit = change.get("key", "").startswith("limits.")
    name = change["resource"]
    least = resources["requests"].get(name, "1Mi" if name == "memory" else "1m")
    resources["limits" if is_limit else "requests"].setdefault(name, least)
