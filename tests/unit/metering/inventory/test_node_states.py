"""The newest state of nodes (scheduling.md S14): capacity, taints and cordon of one scrape."""

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.node_states import (
    NodeTaint,
    ScrapedNode,
    newest_states,
)
from accounting.metering.rules.samples.series import Reading, Series
from tests.unit.metering.kube_series import GPU, KSM, OTHER, ones, series

WHOLE = Interval(0, 600_000)
WHAT = {"node": "n", "resource": "nvidia_com_gpu"}
TAINTED = {"node": "n", "key": "team", "value": "ml", "effect": "NoSchedule"}


def states(*found: Series, period: Interval = WHOLE) -> dict[str, ScrapedNode]:
    return newest_states([Reading(found)], period, {"example_com_x": "example.com/x"})


def test_a_state_is_that_of_the_newest_scrape() -> None:
    """A taint that is no longer shown has been removed, and a value that changed is the new one."""
    found = states(
        series("kube_node_status_capacity", {30: 8, 60: 8}, WHAT),
        series("kube_node_status_allocatable", {30: 8, 60: 7}, WHAT),
        series("kube_node_status_allocatable", ones(60), WHAT | {"resource": "cpu"}),
        series("kube_node_spec_taint", ones(30), TAINTED | {"key": "old"}),
        series("kube_node_spec_taint", ones(30, 60), TAINTED),
        series("kube_node_spec_unschedulable", {30: 0, 60: 1}, {"node": "n"}),
    )
    taint = NodeTaint("team", "ml", "NoSchedule")
    assert found == {"n": ScrapedNode(60_000, {GPU: 8}, {GPU: 7}, {taint}, True)}


def test_samples_of_two_scrapers_are_not_mixed() -> None:
    found = states(
        series("kube_node_status_capacity", ones(30), WHAT, KSM),
        series("kube_node_spec_taint", ones(30), TAINTED, KSM),
        series("kube_node_status_capacity", ones(31), WHAT, OTHER),
    )
    assert found == {"n": ScrapedNode(31_000, {GPU: 1})}


def test_resources_that_were_added_count_and_others_do_not() -> None:
    what = {"node": "n", "resource": "example_com_x"}
    found = states(series("kube_node_status_capacity", {30: 2}, what))
    assert found["n"].capacity == {"example.com/x": 2}
    found = states(
        series("kube_node_status_capacity", {30: 2}, WHAT | {"resource": "cpu"})
    )
    assert found == {"n": ScrapedNode(30_000)}


def test_a_node_without_capacity_or_outside_the_period_is_left_out() -> None:
    taint = series("kube_node_spec_taint", ones(30), TAINTED)
    capacity = series("kube_node_status_capacity", ones(30), WHAT)
    assert states(taint) == {}
    assert states(taint, capacity, period=Interval(0, 30_000)) == {}
    assert set(states(taint, capacity)) == {"n"}
