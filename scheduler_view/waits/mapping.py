"""Explanations of waits as stored JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from scheduler_view.waits.rules.explanation import WaitExplanation

LONGEST_TEXT = 4096  # characters of a message that are stored


def wait_content(one: WaitExplanation) -> dict[str, Any]:
    """The part of an explanation that `UnitWait` has no column for.

    Names of images are left out: they may be confidential. Messages are cut: an event of core/v1
    may have a megabyte, and each page of the unit shows it.
    """
    return {
        "contributing": [cause.value for cause in one.contributing],
        "overlays": [overlay.value for overlay in one.overlays],
        "pods": asdict(one.pods),
        "resource": one.resource,
        "units_per_pod": one.units_per_pod,
        "preemption": one.preemption.value,
        "blockers": [asdict(found) for found in one.blockers],
        "blocker_sets": one.blocker_sets,
        "inverted": [asdict(held) for held in one.inverted.blockers]
        if one.inverted
        else [],
        "cluster_queue": one.cluster_queue,
        "cohort": one.cohort,
        "let_in": [asdict(held) for held in one.let_in],
        "starts_if": [_without_image(found.as_value()) for found in one.starts_if],
        "not_enough": [_without_image(found.as_value()) for found in one.not_enough],
        "evidence": [
            asdict(said) | {"text": said.text[:LONGEST_TEXT]} for said in one.evidence
        ],
        "facts": dict(one.facts),
        "priority": one.priority,
        "priority_class": one.priority_class,
        "from_metrics": one.is_from_metrics,
    }


def _without_image(change: Mapping[str, Any]) -> dict[str, Any]:
    """A change, and its parts if it has several."""
    found = {name: value for name, value in change.items() if name != "image"}
    if "changes" in found:
        found["changes"] = [_without_image(part) for part in found["changes"]]
    return found
