"""What would let a unit start, as texts: one and several are told apart."""

import pytest

from scheduler_view.domain.waits.wording import change_text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"change": "add_node", "units": 1}, "a node with 1 free GPU is added"),
        (
            {"change": "add_gpus", "units": 2},
            "2 GPUs become free on a matching node",
        ),
        ({"change": "add_gpus", "units": 1}, "1 GPU becomes free on a matching node"),
        ({"change": "shrink_request", "units": 1}, "each pod requests 1 GPU"),
        (
            {"change": "wait_for_end", "pods": 1},
            "1 pod has ended, which has begun",
        ),
    ],
)
def test_a_number_and_its_noun_agree(change: dict[str, object], text: str) -> None:
    assert change_text(change) == text
