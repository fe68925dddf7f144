"""When each GPU was there, and on which node (rules N14-N16)."""

from fractions import Fraction

import numpy as np
import pytest

from accounting.core.interval import HOUR_MS
from accounting.metering.rules.inventory.records import ScraperRecord
from tests.unit.metering.cluster import KSM, STEP, Cluster

# --- start and silence (N14, N15) ----------------------------------------------------


def test_presence_begins_with_the_first_sample_and_silence_ends_nothing() -> None:
    """N14, N15: its node object is there, so that it is only silent."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 1})
    cluster.gpu("G", "n", (60, 90), (300, 330))
    assert cluster.real() == [("G", "n", 60, None)]


@pytest.mark.parametrize(
    ("until", "end"), [(30 + 3600, None), (30 + 3601, 60), (30 + 7200, 60)]
)
def test_without_any_object_an_hour_of_silence_ends(
    until: int, end: int | None
) -> None:
    """N15: at its last proof plus one step."""
    cluster = Cluster(read=0)
    cluster.gpu("G", "n", (0, 30))
    assert cluster.real(until) == [("G", "n", 0, end)]
    assert HOUR_MS == 3_600_000


def test_sampled_again_after_its_end_it_begins_anew() -> None:
    """N15."""
    cluster = Cluster(read=0)
    cluster.gpu("G", "n", (0, 30), (5000, 5030))
    assert cluster.real(5040) == [("G", "n", 0, 60), ("G", "n", 5000, None)]


def test_object_seen_later_is_none_before_its_first_sample() -> None:
    """N15: where no object of the node has been seen yet, an hour of silence ends."""
    cluster = Cluster(read=0)
    times = np.arange(4000, 4600, STEP, dtype=np.int64) * 1000
    cluster.inventory.scrapers[KSM] = ScraperRecord(KSM, kube_times=times)
    cluster.node("n", (4000, 4570), gpus={4000: 1})
    cluster.gpu("G", "n", (0, 30))
    assert cluster.real(4600) == [("G", "n", 0, 60)]


# --- the node object goes (N15) ------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (90, 330),  # the object's last sample is the later proof: 300 + 30
        (300, 330),
        (330, 360),  # the GPU's own last sample is later
    ],
)
def test_gpu_goes_with_its_node_object(last: int, end: int) -> None:
    """N15: the later of the object's and the GPU's last sample, plus one step."""
    cluster = Cluster()
    cluster.node("n", (0, 300), gpus={0: 1})
    cluster.node("other", (0, 570))
    cluster.gpu("G", "n", (0, last))
    assert cluster.real() == [("G", "n", 0, end)]


def test_gpu_that_is_sampled_on_outlives_the_object() -> None:
    """N15: where it has gone, 1.5 steps of silence end it."""
    cluster = Cluster()
    cluster.node("n", (0, 300))
    cluster.gpu("G", "n", (0, 570))
    assert cluster.real(600) == [("G", "n", 0, None)]
    assert cluster.real(570 + 45) == [("G", "n", 0, None)]
    assert cluster.real(570 + 46) == [("G", "n", 0, 600)]


def test_object_that_nobody_looked_for_is_there() -> None:
    """N9, N15: kube-state itself is silent after 300 s."""
    cluster = Cluster(read=301)
    cluster.node("n", (0, 300))
    cluster.gpu("G", "n", (0, 90))
    assert cluster.real(9000) == [("G", "n", 0, None)]


def test_new_object_of_the_same_name_has_its_gpus_anew() -> None:
    """N15: the node was replaced; its GPUs ended with the first object."""
    cluster = Cluster()
    cluster.node("n", (0, 90), (300, 570))
    cluster.gpu("A", "n", (0, 90))
    cluster.gpu("B", "n", (300, 570))
    assert cluster.real() == [("A", "n", 0, 120), ("B", "n", 300, None)]


# --- another node (N15) --------------------------------------------------------------


@pytest.mark.parametrize(
    ("again", "end"), [(100, 100), (110, 110), (120, 120), (300, 120)]
)
def test_gpu_on_another_node_has_left_the_first(again: int, end: int) -> None:
    """N15: at its last proof plus one step, never after that first sample."""
    cluster = Cluster()
    cluster.node("n", (0, 570))
    cluster.node("m", (0, 570))
    cluster.gpu("G", "n", (0, 90))
    cluster.gpu("G", "m", (again, 570))
    assert cluster.real() == [("G", "m", again, None), ("G", "n", 0, end)]


def test_gpu_that_comes_back_begins_anew_on_the_first_node() -> None:
    """N15: in one place at a time, sampled again it begins anew."""
    cluster = Cluster()
    for name in "mn":
        cluster.node(name, (0, 570))
    cluster.gpu("G", "n", (0, 90), (300, 570))
    cluster.gpu("G", "m", (150, 210))
    assert cluster.real() == [
        ("G", "m", 150, 240),
        ("G", "n", 0, 120),
        ("G", "n", 300, None),
    ]


# --- too many (N15) ------------------------------------------------------------------


def test_longest_silent_goes_where_there_are_more_than_the_capacity_stood_for() -> None:
    """N15: then the smaller UUID; one that is sampled stays."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 2, 60: 1})  # a smaller capacity ends nothing
    cluster.gpu("B", "n", (0, 90))
    cluster.gpu("A", "n", (0, 120))
    cluster.gpu("C", "n", (300, 570))
    assert cluster.real() == [
        ("A", "n", 0, None),
        ("B", "n", 0, 120),
        ("C", "n", 300, None),
    ]
    cluster.gpu("D", "n", (330, 570))
    assert cluster.real()[0] == ("A", "n", 0, 150)
    cluster.gpu("E", "n", (360, 570))  # three that are sampled, and two GPUs (N40)
    assert [p[3] for p in cluster.real()] == [150, 120, None, None]


def test_ties_of_silence_go_to_the_smaller_uuid() -> None:
    """N15."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 2})
    cluster.gpu("B", "n", (0, 90))
    cluster.gpu("A", "n", (0, 90))
    cluster.gpu("C", "n", (300, 570))
    assert [p[3] for p in cluster.real()] == [120, None, None]


def test_silence_of_one_and_a_half_steps_is_none() -> None:
    """N15: silent for more than 1.5 steps; until then B is one too many (N40)."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 1})
    cluster.gpu("A", "n", (0, 300))
    cluster.gpu("B", "n", (345, 345))
    assert cluster.real(345) == [("A", "n", 0, None)]
    assert cluster.real(346) == [("A", "n", 0, 330), ("B", "n", 345, None)]


def test_capacity_that_comes_later_does_not_end_what_was() -> None:
    """N15: the highest number that its capacity has stood for, up to then."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 1, 400: 2})
    cluster.gpu("A", "n", (0, 90))
    cluster.gpu("B", "n", (300, 570))
    assert cluster.real() == [("A", "n", 0, 120), ("B", "n", 300, None)]
    cluster.node("n", (0, 570), gpus={0: 2, 400: 1})
    assert cluster.real() == [("A", "n", 0, None), ("B", "n", 300, None)]


def test_mixed_partitions_stand_for_the_gpus_of_their_label() -> None:
    """Fine print "units": GPUs of a node = gpu.count under the strategy mixed."""
    cluster = Cluster()
    labels = {
        "label_nvidia_com_mig_strategy": "mixed",
        "label_nvidia_com_gpu_count": "2",
    }
    cluster.node("n", (0, 570), gpus={0: 7}, labels=labels)
    for n, uuid in enumerate("ABC"):
        cluster.gpu(uuid, "n", (100 * n, 100 * n + 30))
    assert [p[3] for p in cluster.real()] == [60, None, None]
    assert cluster.placeholders() == [("n/0", 60, 100), ("n/1", 0, 200)]


def test_labels_alone_can_raise_what_a_capacity_stands_for() -> None:
    """N15: six sevenths are one GPU; re-partitioned, six units of two sevenths are two."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 6})
    cluster.inventory.nodes["n"].labels = [
        (
            at * 1000,
            {
                "label_nvidia_com_mig_strategy": "single",
                "label_nvidia_com_gpu_count": "6",
                "label_nvidia_com_gpu_product": f"NVIDIA-A100-SXM4-80GB-MIG-{profile}",
            },
        )
        for at, profile in ((0, "1g.10gb"), (200, "2g.20gb"))
    ]
    cluster.gpu("A", "n", (0, 180))
    cluster.gpu("B", "n", (150, 570))
    assert cluster.real() == [("A", "n", 0, None), ("B", "n", 150, None)]
    cluster.gpu("A", "n", (0, 90))  # silent while it is one GPU
    assert cluster.real() == [("A", "n", 0, 120), ("B", "n", 150, None)]


def test_units_of_an_added_resource_stand_for_gpus() -> None:
    """N15: two units of a half each are one GPU."""
    cluster = Cluster()
    cluster.inventory.added = {"x/y": Fraction(1, 2)}
    cluster.node("n", (0, 570))
    cluster.inventory.nodes["n"].capacity = [(0, {"x/y": 2})]
    cluster.gpu("A", "n", (0, 90))
    cluster.gpu("B", "n", (300, 570))
    assert cluster.real() == [("A", "n", 0, 120), ("B", "n", 300, None)]
    assert cluster.placeholders() == [("n/0", 120, 300)]
