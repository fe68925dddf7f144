"""Gangs of many members with rules between pods: all of them are placed before a change is enough.

Aspects: too few nodes for the last members; enough nodes; domains larger than a node. Not here:
gangs without such rules (`test_tried_remedies.py`).
"""

from typing import Any

import pytest

from tests.unit.waits.worlds import changes, explained, job, node, owned, pod

MEMBERS = 80
WAITS = {"change": "wait", "at_most_ms": 330_000}
OF_GANG = {"matchLabels": {"gang": "g"}}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": OF_GANG}
            ]
        }
    }
}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": OF_GANG,
        }
    ]
}


def gang(spec: dict[str, Any], zones: dict[str, int]) -> Any:
    """A gang of 1 GPU each, and so many free nodes of 8 GPUs in each zone."""
    work = job(
        "g",
        parallelism=MEMBERS,
        completions=MEMBERS,
        completionMode="Indexed",
    )
    members = [
        pod(
            f"g-{number}",
            meta=owned("Job", "g", gang="g")
            | {"name": f"g-{number}", "namespace": "lab", "uid": f"uid-g-{number}"},
            spec=spec,
        )
        for number in range(MEMBERS)
    ]
    nodes = [
        node(f"{zone}-{number}", labels={"zone": zone})
        for zone, count in zones.items()
        for number in range(count)
    ]
    return explained(Node=nodes, Job=[work], Pod=members)


@pytest.mark.parametrize(
    ("spec", "zones", "fits"),
    [
        (APART, {"a": MEMBERS}, True),
        (APART, {"a": MEMBERS - 1}, False),
        (SPREAD, {"a": 5, "b": 5}, True),
        (SPREAD, {"a": 20, "b": 4}, False),  # 33 in a at most, beside 32 in b
    ],
)
def test_waiting_is_enough_only_if_all_members_have_place(
    spec: dict[str, Any], zones: dict[str, int], fits: bool
) -> None:
    assert (WAITS in changes(gang(spec, zones))) is fits
