"""T26: what quotas leave room for. T27: what a LimitRange does to pods without GPUs.

Used and held (T26): `traps/test_t26_counted_is_not_held.py`.
"""

from typing import Any

import pytest

from scheduler_view.quotas.rules.headroom import limited_by, room
from scheduler_view.quotas.rules.limit_range import Prediction, message, predict
from tests.unit.quotas.examples import quota

GPU = "requests.nvidia.com/gpu"


def test_room_is_the_least_over_all_quotas_that_count_the_pod() -> None:
    general = limited_by(quota({GPU: "10"}, used={GPU: "4"}))
    critical = limited_by(
        quota({GPU: "2"}, used={GPU: "0"}, name="c", classes=("critical",))
    )
    both = [general, critical]
    assert room(both, "nvidia.com/gpu", "critical") == 2
    assert room(both, "nvidia.com/gpu", "normal") == 6
    assert room(both, "nvidia.com/mig-1g.10gb", "critical") is None


@pytest.mark.parametrize(
    ("operator", "counted"),
    [("In", "a"), ("NotIn", "bc"), ("Exists", "ab"), ("DoesNotExist", "")],
)
def test_selectors_choose_by_class(operator: str, counted: str) -> None:
    live = quota({GPU: "1"}, classes=("a",))
    live["spec"]["scopeSelector"]["matchExpressions"][0]["operator"] = operator
    limited = limited_by(live)
    for name in ("a", "b", ""):
        is_counted = name in counted if name else operator in ("NotIn", "DoesNotExist")
        assert limited.counts(name) is is_counted


def test_keys_that_do_nothing_limit_nothing() -> None:
    limited = limited_by(
        quota({"limits.nvidia.com/gpu": "1", "nvidia.com/gpu": "1", GPU: "1500m"})
    )
    assert room([limited], "nvidia.com/gpu", "") is None


@pytest.mark.parametrize(
    ("item", "gets", "is_refused"),
    [
        ({"type": "Container", "max": {"nvidia.com/gpu": "4"}}, 4, False),
        (
            {
                "type": "Container",
                "max": {"nvidia.com/gpu": "4"},
                "default": {"nvidia.com/gpu": "0"},
            },
            0,
            False,
        ),
        ({"type": "Pod", "max": {"nvidia.com/gpu": "4"}}, 0, True),
        ({"type": "Pod", "min": {"nvidia.com/gpu": "1"}}, 0, True),
        ({"type": "Container", "min": {"nvidia.com/gpu": "1"}}, 0, True),
        ({"type": "Container", "max": {"cpu": "4"}}, 0, False),
        ({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, 0, False),
    ],
)
def test_limit_ranges_are_predicted(
    item: dict[str, Any], gets: int, is_refused: bool
) -> None:
    found = predict([item], "nvidia.com/gpu")
    assert (found.gets, bool(found.refused)) == (gets, is_refused)
    assert bool(message(found, "vision", "nvidia.com/gpu")) is bool(
        found.gets or found.refused
    )


def test_the_worst_of_several_counts() -> None:
    items = [
        {"type": "Container", "max": {"nvidia.com/gpu": n}} for n in ("1", "4", "2")
    ]
    assert predict(items, "nvidia.com/gpu") == Prediction(gets=4)
