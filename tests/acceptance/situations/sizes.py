"""Situations of requests that are too large, scattered free GPUs, and MIG profiles."""

from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import container, hold, node, pod

MIG = "nvidia.com/mig-{}-$"

SITUATIONS = [
    Situation(
        "other-mig-profile",
        "resource_unknown",
        {"change": "change_request", "resource": MIG.format("1g.18gb")},
        [
            node(gpus=7, resource=MIG.format("1g.18gb")),
            pod(resource=MIG.format("1g.10gb")),
        ],
        is_first=False,
    ),
    Situation(
        "other-mig-geometry",
        "resource_unknown",
        {"change": "change_geometry", "resource": MIG.format("3g.71gb")},
        [
            node(gpus=7, resource=MIG.format("1g.18gb")),
            pod(resource=MIG.format("3g.71gb")),
        ],
        is_first=False,
    ),
    Situation(
        "two-containers-of-five",
        "too_big",
        {"change": "add_node", "units": 10},
        [node(), pod(containers=[container(5), container(5, "side")])],
        is_first=False,
    ),
    Situation(
        "larger-than-any-node",
        "too_big",
        {"change": "shrink_request", "units": 8},
        [node(), pod(gpus=16)],
    ),
    Situation(
        "three-on-two-and-one",
        "fragmented",
        {"change": "shrink_request", "units": 2},
        [
            node("g0", 4),
            node("g1", 4),
            hold("a", 2),
            hold("b", 3, "g1"),
            pod(gpus=3),
        ],
        is_first=False,
    ),
    Situation(
        "packed-badly",
        "fragmented",
        {"change": "move_pod", "pod": "$/hold-a"},
        [
            node("g0", 4),
            pod("hold-a", 2),
            node("g1", 4),
            hold("b", 2, "g1"),
            pod(gpus=4),
        ],
        is_first=False,
    ),
]
