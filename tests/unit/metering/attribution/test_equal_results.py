"""Which path computes a node, and what a window's ledger has beside its lines (N18, N22, N33).

Nodes are computed as arrays where the samples allow it, the others by the exact path. The oracle
tests compare the results on random fleets; these tests show which path is taken.
"""

from collections.abc import Callable

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.attribute import WindowLedger, attribute
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import derive
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import GpuKey, PodName, ScraperIdentity
from tests.unit.metering.fleet import ZERO_MS, Fleet, ms


def plain() -> Fleet:
    """One pod on one of two GPUs, which names it."""
    fleet = Fleet()
    fleet.node("n", 2)
    fleet.pod("a", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.5), pod="a")
    fleet.gpu("H", "n", fleet.every(0.25))
    return fleet


def chosen() -> Fleet:
    """One pod, and two GPUs of which one must be chosen (N18)."""
    fleet = Fleet()
    fleet.node("n", 2)
    fleet.pod("a", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.5))
    fleet.gpu("H", "n", fleet.every(0.25))
    return fleet


def doubled() -> Fleet:
    """Two scrapers of one GPU (N3)."""
    fleet = plain()
    named = GpuKey("G", "n", plain=PodName("ns", "a"))
    second = ScraperIdentity("job", "two")
    fleet.add("engine_active", fleet.every(0.5), gpu=named, scraper=second)
    return fleet


def valued() -> Fleet:
    """Per-pod values of a GPU with one holder, which decide nothing (N22)."""
    fleet = plain()
    fleet.gpu("G", "n", fleet.every(0.9), metric="gpu_util")
    fleet.gpu("G", "n", fleet.every(0.3), pod="a", metric="gpu_util")
    return fleet


FLEETS: list[tuple[Callable[[], Fleet], bool]] = [
    (plain, True),
    (chosen, True),
    (valued, True),
    (doubled, False),
]


@pytest.mark.parametrize(("make", "as_arrays"), FLEETS)
def test_nodes_are_computed_as_arrays_where_they_can_be(
    make: Callable[[], Fleet], as_arrays: bool
) -> None:
    for ledger in make().ledgers():
        assert len(ledger.lines) == 2
        assert bool(len(ledger.table)) is as_arrays
        assert bool(ledger.singles) is not as_arrays
        assert ledger.issues == ()


@pytest.mark.parametrize(("make", "as_arrays"), FLEETS)
def test_ledger_counts_samples_expected_and_seen(
    make: Callable[[], Fleet], as_arrays: bool
) -> None:
    """N33: presence / step; ten of each GPU in five minutes."""
    del as_arrays
    found = [(x.samples_expected, x.samples_seen) for x in make().ledgers()]
    assert found == [(20, 20), (20, 20)]


def test_divided_gpu_is_computed_as_arrays_with_what_its_instances_leave() -> None:
    """N21, N23: 1g.5gb is 1/7 of 300,000 ms; 42,857.14 + 257,142.86, rounded once.

    Half of the instance is active: of two equal remainders free has the larger part.
    """
    fleet = Fleet()
    fleet.node("n", 1)
    key = GpuKey("M", "n", "1", "1g.5gb", "NVIDIA-A100-SXM4-40GB")
    fleet.add("engine_active", fleet.every(0.5), gpu=key)
    fleet.add("sm_active", fleet.every(0.5), gpu=key)
    for ledger in fleet.ledgers():
        assert ledger.singles == ()
        found = {line.instance: line for line in ledger.table.lines()}
        assert {
            at: (x.free_ms, x.stray_ms, x.stranded_ms) for at, x in found.items()
        } == {
            -1: (0, 0, 257_143),
            1: (21_429, 21_428, 0),
        }
        assert (found[-1].samples_expected, found[1].samples_expected) == (0, 10)
        assert ledger.samples_expected == 10


def hardness(ledger: WindowLedger) -> dict[tuple[str, str], tuple[int, int]]:
    """Observed and active milliseconds of SMs, by GPU and pod."""
    table = ledger.intensity
    return {
        (table.gpus[row["gpu"]][1], table.uids[row["uid"]]): (
            int(row["sm_seen_us"]) // 1000,
            int(row["sm_active_us"]) // 1000,
        )
        for row in table.rows
    }


@pytest.mark.parametrize(("make", "as_arrays"), FLEETS)
def test_second_column_is_of_those_who_hold(
    make: Callable[[], Fleet], as_arrays: bool
) -> None:
    """How hard a GPU worked, by the line that held it."""
    del as_arrays
    fleet = make()
    fleet.gpu("G", "n", fleet.every(0.4), metric="sm_active")
    first, second = fleet.ledgers()
    assert hardness(first) == hardness(second)
    assert hardness(first)["G", "uid-a"] == (300_000, 120_000)


def test_second_column_is_cut_where_holders_change() -> None:
    """N6: a ends at 165, b begins then; the sample at 180 covers the time back to it."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes, ended=165)
    fleet.pod("b", "n", 165, [t for t in fleet.scrapes if t >= 165])
    fleet.gpu("G", "n", fleet.every(0.5, end=165), pod="a")
    fleet.gpu("G", "n", fleet.every(0.5, 165), pod="b")
    fleet.gpu(
        "G", "n", fleet.every(0.0, end=165) | fleet.every(1.0, 165), metric="sm_active"
    )
    found = hardness(fleet.ledgers()[0])
    assert found["G", "uid-a"] == (165_000, 0)
    assert found["G", "uid-b"] == (135_000, 135_000)


def test_node_with_doubtful_zeros_takes_the_exact_path_and_others_do_not() -> None:
    """N21: its lines are void, and its second column is not counted twice."""
    fleet = plain()
    fleet.node("m", 1)
    fleet.pod("b", "m", 0, fleet.scrapes)
    fleet.gpu("Z", "m", fleet.every(0.0), pod="b")
    fleet.gpu("Z", "m", fleet.every(0.9), pod="b", metric="gpu_util")
    fleet.gpu("Z", "m", fleet.every(0.4), metric="sm_active")
    for ledger in fleet.ledgers():
        assert [line.uuid for line in ledger.singles] == ["Z"]
        assert sorted(line.uuid for line in ledger.table.lines()) == ["G", "H"]
        assert [issue.code for issue in ledger.issues] == ["suspect_silence"]
        assert hardness(ledger)["Z", "uid-b"] == (300_000, 120_000)


def test_node_on_the_exact_path_leaves_the_others_on_theirs() -> None:
    fleet = doubled()
    fleet.node("z", 1)
    fleet.gpu("Z", "z", fleet.every(0.5))
    fleet.node("y", 2)
    fleet.pod("c", "y", 0, fleet.scrapes)
    fleet.gpu("X", "y", fleet.every(0.5))
    fleet.gpu("Y", "y", fleet.every(0.25))
    for ledger in fleet.ledgers():
        assert sorted(line.uuid for line in ledger.singles) == ["G", "H"]
        assert sorted(line.uuid for line in ledger.table.lines()) == ["X", "Y", "Z"]


def test_per_pod_values_of_a_shared_gpu_take_the_exact_path() -> None:
    """N22: two pods on one GPU, divided 3 to 1."""
    fleet = Fleet()
    fleet.node("n", 1)
    for pod, value in (("a", 0.6), ("b", 0.2)):
        fleet.pod(pod, "n", 0, fleet.scrapes)
        fleet.gpu("G", "n", fleet.every(value), pod=pod, metric="gpu_util")
    fleet.gpu("G", "n", fleet.every(0.4), metric="gpu_util")
    for ledger in fleet.ledgers():
        assert len(ledger.table) == 0
        busy = {line.pod_uid: line.busy_ms for line in ledger.singles}
        assert busy == {"uid-a": 90_000, "uid-b": 30_000}


def test_pods_that_overlap_on_a_gpu_are_computed_as_arrays_beside_a_change() -> None:
    """N20: from 150 to 210 both; each has half of what was active then."""
    fleet = Fleet()
    fleet.node("n", 2)
    fleet.pod("a", "n", 0, fleet.scrapes, ended=210)
    fleet.pod("b", "n", 150, fleet.scrapes)
    fleet.pod("c", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.5, end=150), pod="a")
    fleet.gpu("G", "n", fleet.every(0.5, 150), pod="b")
    fleet.gpu("H", "n", fleet.every(1.0), pod="c")
    first, second = fleet.ledgers()
    assert first.singles == second.singles == ()
    busy = {line.pod_uid: line.busy_ms for line in first.table.lines()}
    assert busy == {"uid-a": 90_000, "uid-b": 60_000, "uid-c": 300_000}
    assert [issue.code for issue in first.issues] == ["two_on_exclusive"]
    assert second.issues == ()


def test_issues_are_of_their_window_in_order_of_code_and_subject() -> None:
    fleet = Fleet()
    fleet.node("n", 2)
    for uuid in ("H", "G"):
        fleet.pod(f"p{uuid}", "n", 0, fleet.scrapes)
        zeros = fleet.every(0.0)
        fleet.gpu(uuid, "n", zeros, pod=f"p{uuid}")
        fleet.gpu(uuid, "n", fleet.every(0.9), pod=f"p{uuid}", metric="gpu_util")
    fleet.gpu("G", "n", {30.0: 1.5}, metric="sm_active")
    first, second = fleet.ledgers()
    assert [(i.code, i.subject) for i in first.issues] == [
        ("suspect_silence", "G"),
        ("suspect_silence", "H"),
        ("intensity_out_of_range", "G sm_active"),  # those of the second column follow
    ]
    assert [
        (i.subject, i.first_ms, i.last_ms, i.at_stake_ms) for i in second.issues
    ] == [
        ("G", ms(300), ms(600), 300_000),
        ("H", ms(300), ms(600), 300_000),
    ]


def test_no_window_has_no_ledger_and_no_node_an_empty_one() -> None:
    assert attribute([], [], {}) == []
    [ledger] = attribute([Interval(ZERO_MS, ms(300))], [], {})
    assert (ledger.lines, ledger.issues, ledger.samples_expected) == ((), (), 0)


def test_one_profile_that_cannot_be_is_told_with_what_is_derived() -> None:
    """Nothing of it reaches a bill, and an issue names it."""
    fleet = plain()
    labels = {"namespace": "ns", "pod": "odd", "uid": "odd", "node": "n"}
    ones = fleet.every(1.0)
    fleet.add("kube_pod_info", ones, labels)
    resource = {"container": "c", "resource": "nvidia_com_mig_9g_99gb"}
    fleet.add("kube_pod_container_resource_requests", ones, labels | resource)
    whole = Interval(ZERO_MS, ms(600))
    inventory = Inventory()
    observe(inventory, [fleet.reading()], whole)
    derived = derive(inventory, whole, whole.end_ms)
    assert [issue.code for issue in derived.issues] == ["unknown_profile"]
    assert [hold.uid for hold in derived.holds] == ["uid-a"]
    assert derived.seen == (whole,)
    nodes = node_timelines(inventory, derived, whole, whole.end_ms)
    assert nodes["n"].pods == {"uid-a": ("ns", "a")}
