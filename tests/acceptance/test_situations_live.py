"""Situations that people meet, side by side on a real control plane (scheduling.md S4 to S14).

Covered: one situation of each cause (`make test`), or all (`make soak SITUATIONS=all`): cause,
first remedy, what it must never say. Then the remedy is carried out as it is worded (in the soak
every other one too, each in the same situation made once more), and pods get their nodes from the
real scheduler, past real quotas, limit ranges and classes. Kueue and Volcano do not run here: what
Kueue lets in by its rules is let in by hand, of Volcano the cause is gone. Pods of 0 GPUs.
Not here: texts, recorded cases (`test_pending_live.py`).
"""

import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import CHANGE_KINDS
from scheduler_view.waits.rules.node_notes import notes_of_cluster
from scheduler_view.waits.rules.placement.index import WorldIndex
from tests.acceptance.live_office import office_of_roles
from tests.acceptance.situations import (
    at_the_door,
    devices,
    free_gpus,
    kubelets,
    of_queues,
    on_nodes,
    sizes,
    starting,
)
from tests.acceptance.situations.course import Course, worlds
from tests.control_plane.by_hand import CHANGES
from tests.control_plane.queue_definitions import installed, kueue, volcano
from tests.control_plane.rbac import MANIFESTS, apply_manifests, kubectl
from tests.control_plane.server import ControlPlane, control_plane
from tests.control_plane.situation import Situation, create, make, place_of
from tests.control_plane.situation_objects import (
    HOST,
    ONLY,
    RESOURCE,
    container,
    node,
    pod,
)
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(600)]
ALL = [
    one
    for part in (
        *(free_gpus, sizes, on_nodes, devices, at_the_door, starting, kubelets),
        of_queues,
    )
    for one in part.SITUATIONS
]


def chosen() -> dict[str, Situation]:
    """All, those of `SITUATIONS` by name, or the first of each cause."""
    asked = os.environ.get("SITUATIONS", "")
    if asked == "all":
        return {one.name: one for one in ALL}
    if asked:
        return {one.name: one for one in ALL if one.name in asked.split(",")}
    first = {one.cause: one for one in reversed(ALL)}
    return {one.name: one for one in ALL if one is first[one.cause]}


CHOSEN = chosen()


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with control_plane(tmp_path_factory.mktemp("situations")) as made:
        apply_manifests(made)
        kubectl(made, "apply", "-f", str(MANIFESTS / "schedulers" / "kueue.yaml"))
        kubectl(made, "apply", "-f", str(MANIFESTS / "schedulers" / "volcano.yaml"))
        yield made


@pytest.fixture
def office(plane: ControlPlane, tmp_path: Path, db: None) -> Any:
    """A cluster that is read with the rights of `deploy/rbac`."""
    del db
    office = office_of_roles(plane, tmp_path, f"people-{uuid.uuid4().hex[:8]}")
    with installed(office.world.admin, [*kueue(), *volcano()]):
        yield office


NOT_BY_HAND = frozenset({"queue_admits", "together"})
"""What only Volcano and KAI do, and several changes."""


def test_every_situation_is_explained_and_its_remedy_lets_the_work_start(
    plane: ControlPlane, office: Office
) -> None:
    faults: dict[str, str] = {}
    alone = {name: one for name, one in CHOSEN.items() if one.is_alone}
    for name, one in alone.items():
        faults |= Course(plane, office, {name: one}).run()
    rest = {name: one for name, one in CHOSEN.items() if name not in alone}
    course = Course(plane, office, rest)
    faults |= course.run()
    if os.environ.get("SITUATIONS"):
        others = Course(plane, office, course.others())
        faults |= others.run()
        course.done |= others.done | {"wait"}
    if os.environ.get("SITUATIONS") == "all":
        faults |= dict.fromkeys(CHANGES.keys() - course.done, "never carried out")
    assert not faults, "\n".join(f"{name}: {said}" for name, said in faults.items())


def test_hands_can_carry_out_every_change() -> None:
    assert CHANGES.keys() == CHANGE_KINDS - NOT_BY_HAND


def test_pods_that_request_no_gpus_are_noted_until_they_start(office: Office) -> None:
    """They are not work of GPUs, and wait for a taint of a node with GPUs all the same."""
    none = container(0, limits={RESOURCE: "0"})
    waits = pod(containers=[none], nodeSelector={HOST: "$-g0"})
    zero = Situation("requests-no-gpus", "", None, [node(taints=[ONLY]), waits])
    steps, admin, name = zero.filled(zero.steps), office.world.admin, zero.name
    admin.make_namespace(name)
    for step in steps:
        make(admin, step)
    note = {"kind": "zero_pods", "node": f"{name}-g0", "namespace": name}
    assert note | {"pods": 1, "taint": "only"} in notes(office)
    path = place_of("Pod", name, "w")
    admin.call("DELETE", path, {"gracePeriodSeconds": 0})
    tolerated = {"key": "only", "operator": "Equal", "value": name}
    steps[1]["spec"]["tolerations"] = [tolerated]
    create(admin, steps[1])
    wait_until(lambda: "nodeName" in admin.get(path)["spec"], 60)
    assert not [one for one in notes(office) if one.get("namespace") == name]


def notes(office: Office) -> list[dict[str, Any]]:
    """What is said of nodes."""
    ((_, world),) = worlds(office.cluster)
    return notes_of_cluster(WorldIndex(world))
