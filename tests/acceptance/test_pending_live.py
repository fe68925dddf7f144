"""Recorded cases of pending work again, on a real control plane, side by side.

Covered: one case of each cause and the quotas of each controller (`make test`), or all whose first
remedy was tried (`make soak PENDING_CASES=all`): the objects are made, our reader lists them with
the rights of `deploy/rbac`, and the explanation is compared with `expected.json`: stage, cause,
contributing causes, preemption, overlays, first set of blockers, first change. Then the first
change is carried out, and pods bind. Quotas of GPUs and missing priority classes are made and
changed by change sets: one person edits, another approves, a worker applies with the pusher's
token. Not here: the texts (`test_pending_cases.py`); what `LEFT_OUT` names; changes of pods that
have to be made again.
"""

import json
import os
from collections.abc import Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.client.kinds import (
    KAI_POD_GROUP,
    READ_IF_ALLOWED,
    VOLCANO_POD_GROUP,
    WORKLOAD,
)
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from scheduler_view.queues.tasks.observe_queues import manifests_of, read_objects
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import read_world
from tests import shared_data
from tests.acceptance.live_office import make_owned, make_teams, office_of_roles
from tests.acceptance.test_pending_cases import EXPECTED, FOLDER, NAME, contains, is_set
from tests.control_plane.first_remedy import carry_out, has_started, retry
from tests.control_plane.owned_objects import CANNOT_BE_OWNED, owned
from tests.control_plane.rbac import apply_manifests
from tests.control_plane.recorded_case import RecordedCase, build, finish, renamed
from tests.control_plane.server import ControlPlane, control_plane
from tests.integration.changes.office import Office
from tests.processes import wait_until

pytestmark = [
    pytest.mark.control_plane,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not EXPECTED, reason=shared_data.missing(NAME)),
]
IS_SOAK = os.environ.get("PENDING_CASES") == "all"
LEFT_OUT = frozenset(
    {
        "no-nodes",  # no other case may have nodes
        "freed-but-not-tried-again",  # the pod that it waited for was not recorded
        *("gang-cut-by-quota", "gang-partly-bound", "two-gangs-block-each-other"),
        "node-lost",
    }
)
"""The last ones because of fake kubelets: they end pods of Jobs at once, and report each node."""
NOT_TRIED = frozenset(
    {
        *("shrink_request", "change_request", "drop_selector"),  # the pod is made again
        *("create_claim", "create_resource_claim", "create_claim_template"),
        *("create_device_class", "publish_devices", "change_claim_selector"),
        "provide_volume",
    }
)
"""Changes that need an object that was not recorded."""
ALWAYS = frozenset({"quota-job", "quota-deployment", "quota-stateful-set"})
NOT_INSTALLED = {WORKLOAD, VOLCANO_POD_GROUP, KAI_POD_GROUP, *READ_IF_ALLOWED}
"""Kinds that this cluster does not have; our reader may list every other one."""
AT_ONCE = 16


def chosen() -> list[str]:
    """All whose remedy was tried, or one of each cause and `ALWAYS`."""
    tried = [
        name
        for name, one in sorted(EXPECTED.items())
        if one.get("first_remedy_verified") and name not in LEFT_OUT
    ]
    if IS_SOAK:
        return tried
    by_cause = {EXPECTED[name]["cause"]: name for name in reversed(tried)}
    return sorted({*by_cause.values(), *ALWAYS} & set(tried))


BUILT = {
    name: owned(
        renamed(
            name,
            json.loads((FOLDER / f"{name}.json").read_text()),
            EXPECTED[name],
            number,
        )
    )
    for number, name in enumerate(chosen())
}
CASES = {name: case for name, (case, _) in BUILT.items()}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with control_plane(tmp_path_factory.mktemp("pending")) as made:
        apply_manifests(made)
        yield made


@pytest.fixture
def office(plane: ControlPlane, tmp_path: Path, db: None) -> Office:
    """The people who change this cluster, and a team of each namespace."""
    del db
    office = office_of_roles(plane, tmp_path)
    make_teams(office, CASES.values())
    return office


@pytest.fixture
def built(office: Office) -> Mapping[str, str]:
    """Every case; by case the error of one that could not be built."""
    admin = office.world.admin
    make_owned(office, [objects for _, objects in BUILT.values()])

    def one(case: RecordedCase) -> str:
        try:
            build(admin, case)
        except Exception as error:  # reported by the test of its case
            return f"{type(error).__name__}: {error}"
        return ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(CASES, pool.map(one, CASES.values()), strict=True))


def explained(cluster: Cluster) -> dict[str, WaitExplanation]:
    """What our reader sees and how it is explained."""
    client = connect_to(cluster, AccessRole.READER)
    with client:
        found, unread = read_objects(cluster, client, {})
    assert unread == NOT_INSTALLED
    objects = {kind: manifests_of(live) for kind, live in found.items()}
    at = to_ms(timezone.now())
    world_now = read_world(objects, at, unread=unread, added=added_names())
    return {one.subject: one for one in Explainer(world_now).waiting()}


def difference(one: WaitExplanation | None, expected: Mapping[str, Any]) -> str:
    """What is not as expected; empty if nothing."""
    if one is None:
        return "it is not explained"
    found = {
        "stage": one.stage.value,
        "cause": one.cause.value,
        "contributing": [cause.value for cause in one.contributing],
        "preemption": one.preemption.value,
        "overlays": [overlay.value for overlay in one.overlays],
    }
    for key, value in found.items():
        if value != expected[key]:
            return f"{key}: {value}, expected {expected[key]}"
    first = one.blockers[0].pods if one.blockers else ()
    if not any(is_set(globs, first) for globs in expected["blockers"]["any_of"]):
        return f"blockers: {first}, expected {expected['blockers']['any_of']}"
    named = [remedy.as_value() for remedy in one.starts_if]
    if not any(contains(expected["starts_if"][0], change) for change in named):
        return f"starts_if: {named}, expected {expected['starts_if'][0]}"
    return ""


def test_every_case_is_explained_as_declared_and_its_first_change_starts_pods(
    plane: ControlPlane, office: Office, built: Mapping[str, str]
) -> None:
    assert {name: error for name, error in built.items() if error} == {}
    ending = {name for name, case in CASES.items() if case.needs_slow_kubelets}
    wait_as_declared(office.cluster, CASES.keys() - ending, 120)
    plane.freeze("kwok")
    try:
        for name in ending:
            finish(office.world.admin, CASES[name])
        wait_as_declared(office.cluster, ending, 30)  # nodes are lost after 50 s
    finally:
        plane.thaw("kwok")
    assert changes_that_were_not_carried_out(office) <= NOT_TRIED


def wait_as_declared(cluster: Cluster, names: Set[str], seconds: float) -> None:
    """Until each case was explained as declared once."""
    left = dict.fromkeys(names, "it was not looked at")

    def are_explained() -> bool:
        found = explained(cluster)
        for name in list(left):
            expected = CASES[name].expected
            left[name] = difference(found.get(expected["subject"]), expected)
            if not left[name]:
                del left[name]
        return not left

    try:
        wait_until(are_explained, seconds)
    except AssertionError:
        pytest.fail("\n".join(f"{name}: {wrong}" for name, wrong in left.items()))


def carried_out(office: Office, name: str) -> bool:
    """Carry out the first change of a case, by a change set where GPU Ledger owns the object."""
    case, objects = BUILT[name]
    change = case.expected["starts_if"][0]
    edit = objects.edit_for(case, change)
    if edit is None:
        by_admin = change["change"] == "raise_quota"
        assert by_admin == (name in CANNOT_BE_OWNED), f"{name}: who changes the quota"
        return carry_out(office.world.admin, case, change)
    change_set = office.applied(edit)
    assert change_set.approved_by == "luis"
    for namespace in case.namespaces:
        retry(office.world.admin, namespace)
    return True


def changes_that_were_not_carried_out(office: Office) -> set[str]:
    """Carry out the first change of each case, and wait until pods start; returns the others."""
    admin = office.world.admin
    changed = [case for name, case in CASES.items() if carried_out(office, name)]
    left = {case.name for case in changed}

    def have_started() -> bool:
        left.difference_update(
            case.name
            for case in changed
            if case.name in left and has_started(admin, case)
        )
        return not left

    try:
        wait_until(have_started, 400 if IS_SOAK else 90)
    except AssertionError:
        pytest.fail(f"no pod started: {sorted(left)}")
    done = {case.name for case in changed}
    return {
        EXPECTED[name]["starts_if"][0]["change"] for name in CASES if name not in done
    }
