"""Quotas with scopes beside the one that refused: all that count the pods are raised together."""

from typing import Any

import pytest

from tests.unit.waits.worlds import GPU, changes, explained, job, node, refused

KEY = f"requests.{GPU}"
REFUSED = (
    'Error creating: pods "x" is forbidden: exceeded quota: gpu, '
    f"requested: {KEY}=2, used: {KEY}=4, limited: {KEY}=4"
)


def quota(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"hard": {KEY: "4"}, **spec},
        "status": {"used": {KEY: "4"}},
    }


def near(**term: Any) -> dict[str, Any]:
    """Anti-affinity with a term for these namespaces."""
    one = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, **term}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [one]}
    return {"affinity": {"podAntiAffinity": rule}}


@pytest.mark.parametrize(
    ("spec", "scope", "counts"),
    [
        (near(namespaces=["other"]), "CrossNamespacePodAffinity", True),
        (near(namespaceSelector={}), "CrossNamespacePodAffinity", True),
        (near(), "CrossNamespacePodAffinity", False),
        ({"activeDeadlineSeconds": 60}, "Terminating", True),
        ({}, "Terminating", False),
        ({}, "BestEffort", True),
    ],
)
def test_every_quota_whose_scope_has_the_pods_is_raised(
    spec: dict[str, Any], scope: str, counts: bool
) -> None:
    work = job("j", gpus=2)
    work["spec"]["template"]["spec"] |= spec
    found = explained(
        Node=[node("n")],
        Job=[work],
        ResourceQuota=[quota("gpu"), quota("scoped", scopes=[scope])],
        Event=[refused("Job", "j", REFUSED)],
    )
    raised = [
        one["quota"]
        for change in changes(found)
        for one in change.get("changes", [change])  # type: ignore[attr-defined]
        if one["change"] == "raise_quota"
    ]
    assert raised == ["lab/gpu", "lab/scoped"][: 1 + counts]
