"""Situations of work that has its node: kubelets cannot start it, or it starts for hours."""

from typing import Any

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import container, hold, node, obj

STARTED = "2026-11-27T00:00:00Z"


def stated(
    waiting: Manifest | None = None, init: Manifest | None = None, **more: Any
) -> Manifest:
    """What a kubelet reports of a pod `w` that is on its node: the state of a container."""
    image = {"image": "example.com/train:1", "imageID": "", "ready": False}
    found: Manifest = {"phase": "Pending", "conditions": []}
    main = {"waiting": waiting or {"reason": "PodInitializing"}}
    found["containerStatuses"] = [
        image | {"name": "main", "restartCount": 0, "state": main}
    ]
    if init is not None:
        found["initContainerStatuses"] = [
            image | {"name": "prepare", "restartCount": 0, "state": init} | more
        ]
    return obj("Pod", "hold-w", change={"status": found})


def started(**more: Any) -> list[Manifest]:
    """A pod with a node, whose kubelet says something."""
    return [node(), hold("w", 8, **more)]


PREPARE = [container(0, "prepare")]
SITUATIONS = [
    Situation(
        "image-cannot-be-pulled",
        "image_pull",
        {"change": "repair_image"},
        [*started(), stated({"reason": "ImagePullBackOff", "message": "Back-off"})],
        "Pod/$/hold-w",
        after="over",
    ),
    Situation(
        "config-map-is-missing",
        "container_config",
        {"change": "repair_config"},
        [
            *started(),
            stated({"reason": "CreateContainerConfigError", "message": "not found"}),
        ],
        "Pod/$/hold-w",
        after="over",
    ),
    Situation(
        "init-container-runs",
        "init_container",
        {"change": "wait_for_init", "container": "prepare"},
        [
            *started(initContainers=PREPARE),
            stated(init={"running": {"startedAt": STARTED}}),
        ],
        "Pod/$/hold-w",
        after="over",
    ),
    Situation(
        "init-container-fails",
        "crash_loop",
        {"change": "repair_container", "container": "prepare"},
        [
            *started(initContainers=PREPARE),
            stated(
                init={"waiting": {"reason": "CrashLoopBackOff"}},
                restartCount=7,
                lastState={"terminated": {"exitCode": 1, "reason": "Error"}},
            ),
        ],
        "Pod/$/hold-w",
        after="over",
    ),
]
