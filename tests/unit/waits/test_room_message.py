"""What a page says is left of a quota: a pod takes from the part of its own namespace."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scheduler_view.changes.tags import room_message
from scheduler_view.quotas.reads.quotas import QuotaRow


def row(in_use: int, rooms: Mapping[str, int]) -> QuotaRow:
    return QuotaRow(
        cluster="north",
        team="vision",
        team_name="Vision",
        resource="nvidia.com/gpu",
        tier="",
        gpus=56,
        rule="even",
        split=dict.fromkeys(rooms, 0),
        in_use=in_use,
        peak=58,
        version=1,
        rooms=rooms,
    )


@pytest.mark.parametrize(
    ("in_use", "rooms", "message"),
    [
        (8, {"train": 48}, "48 left"),
        (8, {"train": 40, "serve": 8}, "48 left: 40 in train, 8 in serve"),
        (8, {"train": 40}, "40 left; another quota allows less"),
        (
            8,
            {"train": 30, "serve": 8},
            "48 left: 30 in train, 8 in serve; another quota allows less",
        ),
        (
            8,
            {"a": 20, "b": 12, "c": 10, "d": 6},
            "48 left: 20 in a, 12 in b, 10 in c, 6 in 1 more",
        ),
        (8, {}, ""),
        (60, {"train": 0}, ""),
    ],
)
def test_what_is_left_is_named_for_each_namespace(
    in_use: int, rooms: Mapping[str, int], message: str
) -> None:
    assert room_message(row(in_use, rooms)) == message


def test_no_namespace_has_more_left_than_the_quota() -> None:
    drifted = replace(row(16, {"a": 99, "b": 5}), gpus=56, lefts={"a": 35, "b": 5})
    assert room_message(drifted) == "40 left: 35 in a, 5 in b"
    assert room_message(replace(drifted, lefts={})) == "40 left: 40 in a, 5 in b"
