"""Names of labels as kube-state-metrics writes them; where two of an object are one name.

The first table is worked out by hand from its `toSnakeCase`: a `_` between a small letter or
digit and a capital, then all letters small; before that every odd character is a `_`.
"""

import pytest

from accounting.metering.rules.inventory.label_names import label_name, object_labels


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("team", "label_team"),
        ("eks.amazonaws.com/capacityType", "label_eks_amazonaws_com_capacity_type"),
        ("nvidia.com/gpu.count", "label_nvidia_com_gpu_count"),
        ("example.com/costCenterID", "label_example_com_cost_center_id"),
        ("HTTPServer", "label_httpserver"),  # no small letter before a capital
        ("gpu2Type", "label_gpu2_type"),
        ("aBc.dEf", "label_a_bc_d_ef"),
        ("Team", "label_team"),
        ("a_B", "label_a_b"),
        ("a-b.c/d", "label_a_b_c_d"),
    ],
)
def test_a_label_is_written_in_snake_case(key: str, expected: str) -> None:
    assert label_name(key) == expected


def test_only_labels_of_the_object_are_taken() -> None:
    shown = {"node": "n1", "label_team": "vision", "labelled": "x"}
    assert object_labels(shown) == {"label_team": "vision"}
    assert object_labels({}) == {}


def test_names_with_capitals_are_read_as_those_without() -> None:
    """Older kube-state-metrics and relabelling keep capitals."""
    shown = {"label_eks_amazonaws_com_capacityType": "SPOT"}
    assert object_labels(shown) == {"label_eks_amazonaws_com_capacity_type": "SPOT"}


def test_labels_that_became_one_name_count_where_they_agree() -> None:
    agreeing = {"label_cost_type_conflict1": "a", "label_cost_type_conflict2": "a"}
    assert object_labels(agreeing) == {"label_cost_type": "a"}

    differing = {
        "label_cost_type_conflict1": "a",
        "label_cost_type_conflict2": "b",
        "label_team": "vision",
    }
    assert object_labels(differing) == {"label_team": "vision"}
