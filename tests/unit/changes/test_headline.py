"""Titles of change sets, and the summary over their plan."""

from typing import Any

import pytest

from scheduler_view.changes.rules.edit import Edit, QuotaEdit, TierEdit
from scheduler_view.changes.rules.headline import Move, move_of, summary, title
from scheduler_view.changes.rules.steps import Action
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec

RESOURCE = "nvidia.com/gpu"
NAMES = {"forecast": "Forecasting", "vision": "Vision"}


def quota(gpus: int | None, team: str = "forecast", tier: str = "") -> QuotaEdit:
    return QuotaEdit(team, RESOURCE, gpus, tier)


def tier(value: int, **more: Any) -> TierEdit:
    return TierEdit(TierSpec("batch", value), **more)


def moved(edit: Edit, back: Edit | None) -> Move:
    return move_of(edit, back, NAMES)


@pytest.mark.parametrize(
    ("edit", "back", "text", "verb"),
    [
        (quota(30), quota(24), "Forecasting: 24 → 30 GPUs", "raised"),
        (quota(24), quota(1_030), "Forecasting: 1,030 → 24 GPUs", "lowered"),
        (quota(1), quota(None), "Forecasting: no quota → 1 GPU", "added"),
        (quota(None), quota(24), "Forecasting: 24 GPUs → no quota", "removed"),
        (quota(None), None, "Forecasting: no quota", "removed"),
        (quota(None), quota(None), "Forecasting: no quota", "removed"),
        (quota(30), None, "Forecasting: 30 GPUs", "set"),
        (quota(30), quota(30), "Forecasting: 30 GPUs, unchanged", "unchanged"),
        (
            QuotaEdit("forecast", RESOURCE, 30, rule=SplitRule.BY_USE),
            quota(30),
            "Forecasting: 30 GPUs, divided differently",
            "changed",
        ),
        (
            quota(30, tier="batch"),
            quota(24, tier="batch"),
            "Forecasting, tier batch: 24 → 30 GPUs",
            "raised",
        ),
        (quota(3, "new"), quota(2, "new"), "new: 2 → 3 GPUs", "raised"),
        (tier(2_000), tier(1_000), "Tier batch: priority 1,000 → 2,000", "changed"),
        (tier(9), tier(9), "Tier batch: properties changed", "changed"),
        (tier(9), tier(9, remove=True), "Tier batch: new, priority 9", "added"),
        (tier(9, remove=True), tier(9), "Tier batch: removed", "removed"),
        (tier(9), None, "Tier batch: priority 9", "set"),
    ],
)
def test_an_edit_is_named_by_what_it_moves(
    edit: Edit, back: Edit | None, text: str, verb: str
) -> None:
    move = moved(edit, back)
    assert (move.text, move.verb) == (text, verb)


def test_a_title_spells_two_moves_and_counts_more() -> None:
    one, two = (
        moved(quota(30), quota(24)),
        moved(quota(8, "vision"), quota(16, "vision")),
    )
    assert title([one]) == "Forecasting: 24 → 30 GPUs"
    assert title([one, two]) == "Forecasting: 24 → 30 GPUs; Vision: 16 → 8 GPUs"
    third = moved(tier(9), tier(8))
    assert title([one, two, third]) == "2 quotas of 2 teams, 1 tier"
    assert title([one] * 3) == "3 quotas of Forecasting"
    assert title([third] * 3) == "3 tiers"
    assert title([]) == "Nothing"


def test_a_summary_counts_moves_then_objects_and_no_zeros() -> None:
    moves = [
        moved(quota(8, "vision"), quota(16, "vision")),
        moved(quota(30), quota(24)),
        moved(quota(31), quota(24)),
        moved(tier(9), tier(8)),
    ]
    actions = [Action.KEEP, Action.CHANGE, Action.CHANGE, Action.CREATE]
    assert summary(moves, actions) == (
        "2 quotas raised, 1 quota lowered, 1 tier changed: 1 object created, 2 objects "
        "changed, 1 object unchanged"
    )
    assert summary([], [Action.KEEP]) == "1 object unchanged"
    assert summary(moves[:1], []) == "1 quota lowered"
