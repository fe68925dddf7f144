"""Every recorded case of pending work: the explanation is the one that was declared.

Covered, as `expected.json` has it: stage, cause, contributing causes, preemption, overlays, counts
of pods, resource, the first set of blockers, every change that lets the unit start, and the facts
of a cause. Each change that is said to be enough is carried out on the objects
(`tests/oracle/remedies.py`). Not here: a real scheduler (`test_pending_live.py`).
"""

import json
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import pytest

from scheduler_view.waits.rules.change_wording import CHANGE_KINDS, change_text
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import read_world
from tests import shared_data
from tests.oracle.remedies import Trial

NAME = "public-pending-2026"
FOLDER = shared_data.DATA / NAME
FACTS = (
    *("quota", "free", "free_total", "free_other", "gang", "inversion", "nominated"),
    *("gates", "queue", "missing", "volume", "limit", "taints", "short", "devices"),
    *("selector", "node", "scheduler"),
)
NOT_NAMED = {
    ("fragmented", "move_pod"),  # bound by a selector: decision 34
    ("bound-node-lost", "delete_pod"),  # it would find no other node: decision 40
    ("equal-priority", "raise_tier"),  # no class is higher: decision 40
}


def _expected() -> dict[str, Any]:
    path = FOLDER / "expected.json"
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text())["scenarios"]
    return found


EXPECTED = _expected()


def explanations(case: str) -> dict[str, WaitExplanation]:
    recorded = json.loads((FOLDER / f"{case}.json").read_text())
    at = datetime.fromisoformat(recorded["recorded_at"])
    world = read_world(recorded["objects"], round(at.timestamp() * 1000))
    return {one.subject: one for one in Explainer(world).waiting()}


@pytest.mark.skipif(not EXPECTED, reason=shared_data.missing(NAME))
def test_there_are_74_cases() -> None:
    assert len(EXPECTED) == 74


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_a_recorded_case_is_explained_as_declared(case: str) -> None:
    expected, found = EXPECTED[case], explanations(case)
    if expected.get("is_visible") is False:
        assert found == {}, "nothing of it is left to be found"
        return
    one = found[expected["subject"]]
    assert {
        "stage": one.stage,
        "cause": one.cause,
        "contributing": list(one.contributing),
        "preemption": one.preemption,
        "overlays": list(one.overlays),
        "resource": one.resource or None,
        "units_per_pod": one.units_per_pod,
        "pods": {
            "wanted": one.pods.wanted,
            "bound": one.pods.bound,
            "waiting": one.pods.waiting,
        },
    } == {key: expected[key] for key in _COMPARED}
    first = one.blockers[0].pods if one.blockers else ()
    assert any(is_set(globs, first) for globs in expected["blockers"]["any_of"]), first
    for name in FACTS:
        if name in expected:
            assert contains(expected[name], one.facts.get(name)), name


_COMPARED = (
    *("stage", "cause", "contributing", "preemption", "overlays", "resource"),
    *("units_per_pod", "pods"),
)


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_the_declared_changes_are_named(case: str) -> None:
    expected = EXPECTED[case]
    if expected.get("is_visible") is False:
        return
    named = [r.as_value() for r in explanations(case)[expected["subject"]].starts_if]
    assert bool(named) == bool(expected["starts_if"])
    assert all(change_text(one) for one in named)
    assert {one["change"] for one in named} <= CHANGE_KINDS
    for change in expected["starts_if"]:
        if (case, change["change"]) not in NOT_NAMED:
            assert any(contains(change, one) for one in named), change


NOT_CARRIED_OUT = frozenset(
    {
        *("create_resource_claim", "create_claim_template", "create_device_class"),
        *("publish_devices", "change_claim_selector", "change_geometry"),
        *("start_scheduler", "repair_image", "repair_config"),
    }
)
"""Changes that need an object that was not recorded, or a kubelet."""
OF_CLAIMS = ("dra-all-allocated", "dra-quota")  # no oracle of devices
OF_A_BOUND_POD = "bound-node-lost"


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_each_change_that_is_enough_lets_the_work_start(case: str) -> None:
    """Carried out on the recorded objects by an own reading of each change."""
    expected = EXPECTED[case]
    if expected.get("is_visible") is False or case in (*OF_CLAIMS, OF_A_BOUND_POD):
        return
    recorded = json.loads((FOLDER / f"{case}.json").read_text())
    at = round(datetime.fromisoformat(recorded["recorded_at"]).timestamp() * 1000)
    found = explanations(case)[expected["subject"]]
    trial = Trial(recorded["objects"], at, expected["subject"])
    for one in found.starts_if:
        if not {change.kind for change in one.changes} & NOT_CARRIED_OUT:
            assert trial.starts_with(one.as_value()), change_text(one.as_value())
    for partial in found.not_enough:
        if not {c.kind for c in partial.remedy.changes} & NOT_CARRIED_OUT:
            value = partial.as_value()
            assert not trial.starts_with(value), change_text(value)


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_the_evidence_is_the_text_that_was_recorded(case: str) -> None:
    expected = EXPECTED[case]
    if expected.get("is_visible") is False:
        return
    one = explanations(case)[expected["subject"]]
    for said in one.evidence:
        recorded = (FOLDER / f"{case}.json").read_text()
        assert json.dumps(said.text)[1:-1] in recorded


def is_set(globs: list[str], pods: tuple[str, ...]) -> bool:
    """Whether pods are one of the declared sets; a star matches any text."""
    return all(any(fnmatchcase(pod, glob) for glob in globs) for pod in pods) and all(
        any(fnmatchcase(pod, glob) for pod in pods) for glob in globs
    )


def contains(expected: Any, found: Any) -> bool:
    """Whether a value has everything that is declared; it may have more."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and contains(value, found[key])
            for key, value in expected.items()
        )
    return bool(expected == found)
