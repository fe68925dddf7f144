"""Who set a limit, from the managers of its fields."""

from typing import Any

import pytest

from scheduler_view.quotas.rules.limits.maker import Maker, maker_of

KEY = "requests.nvidia.com/gpu"
PATH = ("spec", "hard", KEY)


def entry(manager: str, *, time: str = "", **more: Any) -> dict[str, Any]:
    """A manager of the GPU key."""
    fields: dict[str, Any] = {"f:spec": {"f:hard": {f"f:{KEY}": {}}}}
    return {"manager": manager, "time": time, "fieldsV1": fields, **more}


def quota(*entries: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {
        "kind": "ResourceQuota",
        "metadata": {"managedFields": list(entries), **meta},
    }


@pytest.mark.parametrize(
    ("live", "maker"),
    [
        (
            quota(entry("kubectl-create", time="2026-11-01T00:00:00Z")),
            Maker("kubectl", "2026-11-01T00:00:00Z"),
        ),
        (quota(entry("kubectl-create"), entry("kubectl-edit")), Maker("kubectl")),
        (quota(entry("HashiCorp")), Maker("Terraform")),
        (quota(entry("our-operator")), Maker("our-operator")),
        (quota(), Maker()),
        (quota(entry("kube-controller-manager", subresource="status")), Maker()),
        (
            quota(entry("helm"), annotations={"meta.helm.sh/release-name": "q"}),
            Maker("Helm"),
        ),
        (
            quota(
                entry("kubectl-create", time="2026-11-01T00:00:00Z"),
                entry("gpu-ledger", time="2026-11-02T00:00:00Z"),
            ),
            Maker("GPU Ledger, kubectl", "2026-11-02T00:00:00Z"),
        ),
    ],
)
def test_makers(live: dict[str, Any], maker: Maker) -> None:
    assert maker_of(live, [PATH]) == maker


def test_managers_of_other_fields_did_not_set_it() -> None:
    other = {"manager": "kubectl-label", "fieldsV1": {"f:metadata": {"f:labels": {}}}}
    assert maker_of(quota(other, entry("kubectl-create")), [PATH]).name == "kubectl"
    cpu = {"manager": "cpu-team", "fieldsV1": {"f:spec": {"f:hard": {"f:cpu": {}}}}}
    assert maker_of(quota(cpu), [PATH]) == Maker()
