"""UUIDs that no node has room for, and nodes that nobody knows, have no presence (N40)."""

import pytest

from accounting.core.interval import Interval, union, without
from accounting.metering.rules.holds.node_capacity import beyond_capacity
from accounting.metering.rules.inventory.records import ClaimRecord, Device, SampleSpan
from tests.unit.metering.cluster import KSM, Cluster

HOUR = 3600
ALL = (0, 570)


def issues(
    cluster: Cluster, start: int = 0, end: int = 600
) -> list[tuple[str, str, int, int, int]]:
    """Code, UUID, first, last and time at stake, in seconds."""
    period = Interval(start * 1000, end * 1000)
    return [
        (
            i.code,
            i.subject,
            i.first_ms // 1000,
            i.last_ms // 1000,
            i.at_stake_ms // 1000,
        )
        for i in beyond_capacity(cluster.inventory, cluster.presences(), period)
    ]


def two_of_two() -> Cluster:
    cluster = Cluster()
    cluster.node("n", ALL, gpus={0: 2})
    cluster.gpu("B", "n", ALL)
    cluster.gpu("C", "n", ALL)
    return cluster


def test_the_latest_first_sample_is_beyond_the_capacity() -> None:
    cluster = two_of_two()
    cluster.gpu("A", "n", (120, 570))
    assert cluster.real() == [("B", "n", 0, None), ("C", "n", 0, None)]
    assert issues(cluster) == [("gpu_beyond_capacity", "A", 120, 600, 480)]
    assert issues(cluster, 0, 100) == []
    assert issues(cluster, 300, 330) == [("gpu_beyond_capacity", "A", 300, 330, 30)]


def test_of_those_that_came_together_the_larger_uuid_is() -> None:
    cluster = two_of_two()
    cluster.gpu("D", "n", ALL)
    assert [p[0] for p in cluster.real()] == ["B", "C"]


def test_a_higher_capacity_gives_presence_from_the_first_sample() -> None:
    cluster = two_of_two()
    cluster.gpu("A", "n", (120, 570))
    cluster.node("n", ALL, gpus={0: 2, 300: 3})
    assert cluster.real()[0] == ("A", "n", 120, None)
    assert issues(cluster) == []


def test_one_that_takes_the_place_of_a_silent_one_begins_where_that_ends() -> None:
    cluster = Cluster()
    cluster.node("n", ALL, gpus={0: 2})
    cluster.gpu("B", "n", ALL)
    cluster.gpu("C", "n", (0, 300))  # there until 330, one step after its last sample
    cluster.gpu("A", "n", (120, 570))
    assert cluster.real() == [
        ("A", "n", 330, None),
        ("B", "n", 0, None),
        ("C", "n", 0, 330),
    ]
    assert issues(cluster) == [("gpu_beyond_capacity", "A", 120, 330, 210)]


def test_one_that_is_sampled_again_takes_its_place_back() -> None:
    cluster = Cluster()
    cluster.node("n", ALL, gpus={0: 1})
    cluster.gpu("B", "n", (0, 90), (300, 570))
    cluster.gpu("C", "n", (150, 570))
    assert cluster.real() == [
        ("B", "n", 0, 120),
        ("B", "n", 300, None),
        ("C", "n", 150, 300),
    ]
    assert issues(cluster) == [("gpu_beyond_capacity", "C", 300, 600, 300)]


def test_a_capacity_of_nothing_says_nothing() -> None:
    cluster = Cluster()
    cluster.node("n", ALL, gpus={0: 0})
    cluster.gpu("A", "n", ALL)
    assert cluster.real() == [("A", "n", 0, None)]
    assert issues(cluster) == []


def claim(cluster: Cluster, name: str, uuid: str) -> ClaimRecord:
    """A claim that was given a GPU of node `n`."""
    device = Device("gpu.nvidia.com", "n", uuid.lower(), uuid)
    record = ClaimRecord("vision", name, {device})
    cluster.inventory.claims["vision", name] = record
    return record


@pytest.mark.parametrize("fact", ["is_shown", "is_observed"])
def test_what_a_claim_was_given_is_there_beside_the_capacity(fact: str) -> None:
    cluster = two_of_two()
    cluster.gpu("A", "n", (120, 570))
    setattr(claim(cluster, "x", "C"), fact, True)
    assert cluster.real() == [
        ("A", "n", 120, None),
        ("B", "n", 0, None),
        ("C", "n", 0, None),
    ]
    assert issues(cluster) == []
    cluster.gpu("D", "n", (240, 570))
    assert issues(cluster) == [("gpu_beyond_capacity", "D", 240, 600, 360)]


def test_claims_that_nobody_bears_out_make_no_room() -> None:
    """One that only an exporter tells of, and one behind a resource of the capacity."""
    cluster = two_of_two()
    cluster.gpu("A", "n", (120, 570))
    claim(cluster, "x", "A")
    claim(cluster, "pod-extended-resources-x7", "C").is_shown = True
    assert [p[0] for p in cluster.real()] == ["B", "C"]


# --- nodes that nobody knows -------------------------------------------------------


def beside_a_known_node(seconds: int, *read: tuple[int, int]) -> Cluster:
    """A GPU on node `x`, which kube-state never shows; it reads in these times."""
    cluster = Cluster()
    cluster.node("n", (0, seconds), gpus={0: 1})
    cluster.gpu("A", "x", (0, seconds))
    cluster.inventory.scrapers[KSM].spans = [
        SampleSpan(first * 1000, last * 1000, 30_000) for first, last in read
    ]
    return cluster


def test_a_gpu_of_a_node_that_kube_state_never_shows_is_not_there() -> None:
    cluster = beside_a_known_node(HOUR, (0, HOUR - 30))
    assert cluster.real(HOUR) == []


def test_a_node_may_be_late_for_an_hour() -> None:
    cluster = beside_a_known_node(HOUR, (30, HOUR - 30))
    assert cluster.real(HOUR) == [("A", "x", 0, None)]


def test_only_the_time_in_which_kube_state_is_seen_counts() -> None:
    cluster = beside_a_known_node(3 * HOUR, (0, 1770), (2 * HOUR, 2 * HOUR + 1740))
    assert cluster.real(3 * HOUR) == [("A", "x", 0, None)]
    cluster = beside_a_known_node(3 * HOUR, (0, 1770), (2 * HOUR, 2 * HOUR + 1770))
    assert cluster.real(3 * HOUR) == []


def test_kube_state_that_shows_no_node_at_all_says_nothing_of_them() -> None:
    cluster = beside_a_known_node(HOUR, (0, HOUR - 30))
    del cluster.inventory.nodes["n"]
    assert cluster.real(HOUR) == [("A", "x", 0, None)]


def test_a_node_that_is_shown_later_was_there_all_the_time() -> None:
    cluster = beside_a_known_node(HOUR, (0, HOUR - 30))
    cluster.node("x", (HOUR - 30, HOUR - 30), gpus={HOUR - 30: 1})
    assert cluster.real(HOUR) == [("A", "x", 0, None)]


# --- times -------------------------------------------------------------------------


def test_the_union_of_periods_is_disjoint() -> None:
    assert union([Interval(5, 9), Interval(0, 3), Interval(3, 4), Interval(7, 7)]) == [
        Interval(0, 4),
        Interval(5, 9),
    ]


def test_what_is_left_of_periods_beside_others() -> None:
    taken = [Interval(2, 4), Interval(8, 20)]
    assert without([Interval(0, 10)], taken) == [Interval(0, 2), Interval(4, 8)]
    assert without([Interval(2, 4)], taken) == []
    assert without([Interval(0, 2)], []) == [Interval(0, 2)]
