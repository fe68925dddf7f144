"""What is stored of an explanation: no names of images, and no messages without end."""

import json
from dataclasses import replace

from scheduler_view.waits.mapping import LONGEST_TEXT, wait_content
from scheduler_view.waits.rules.explanation import Partial, Remedy, WaitChange
from tests.unit.waits.worlds import explained, job, node, pod, refused

IMAGE = WaitChange("repair_image", {"image": "registry.example/secret"})
END = WaitChange("end_pod", {"pod": "lab/other"})


def test_a_change_of_several_parts_names_no_image() -> None:
    found = explained(Node=[node("n")], Pod=[pod("other", 8, "n"), pod("w", 8)])
    both = Remedy((IMAGE, END))
    stored = wait_content(
        replace(found, starts_if=(both,), not_enough=(Partial(both, ()),))
    )
    parts = [{"change": "repair_image"}, {"change": "end_pod", "pod": "lab/other"}]
    assert [one["changes"] for one in stored["starts_if"]] == [parts]
    assert [one["changes"] for one in stored["not_enough"]] == [parts]


def test_a_message_of_a_megabyte_is_cut() -> None:
    words = 'Error creating: pods "x" is forbidden: ' + "x" * 1_000_000
    found = explained(
        Node=[node("n")], Job=[job("j")], Event=[refused("Job", "j", words)]
    )
    stored = wait_content(found)
    assert stored["evidence"][0]["text"] == words[:LONGEST_TEXT]
    assert len(json.dumps(stored)) < 2 * LONGEST_TEXT
