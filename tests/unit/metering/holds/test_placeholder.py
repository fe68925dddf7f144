"""GPUs that a capacity stands for before any sample names them (rules N16)."""

from tests.unit.metering.cluster import Cluster

# --- placeholders (N16) --------------------------------------------------------------


def test_capacity_without_uuids_is_placeholders() -> None:
    """N16: from the first sample of the capacity on; 3 of 3, then 2 as one is named."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={60: 3})
    assert cluster.placeholders() == [(f"n/{n}", 60, None) for n in range(3)]
    cluster.gpu("G", "n", (120, 570))
    assert cluster.placeholders() == [
        ("n/0", 60, 120),
        ("n/1", 60, None),
        ("n/2", 60, None),
    ]


def test_placeholders_follow_the_latest_capacity() -> None:
    """N16: n is less than the latest capacity stands for."""
    cluster = Cluster()
    cluster.node("n", (0, 570), gpus={0: 1, 120: 3, 240: 2, 360: 0})
    assert cluster.placeholders() == [
        ("n/0", 0, 360),
        ("n/1", 120, 360),
        ("n/2", 120, 240),
    ]


def test_placeholders_end_with_the_node_object_and_begin_with_the_next() -> None:
    """N16."""
    cluster = Cluster()
    cluster.node("n", (0, 90), (300, 570), gpus={0: 1})
    assert cluster.placeholders() == [("n/0", 0, 120), ("n/0", 300, None)]
    assert cluster.placeholders(until=120) == [("n/0", 0, None)]


def test_gpu_that_ends_leaves_a_placeholder() -> None:
    """N16: not less than the number of UUIDs there."""
    cluster = Cluster()
    for name in "mn":
        cluster.node(name, (0, 570), gpus={0: 1})
    cluster.gpu("G", "n", (0, 90))
    cluster.gpu("G", "m", (300, 570))
    assert cluster.placeholders() == [("m/0", 0, 300), ("n/0", 120, None)]


def test_node_without_capacity_or_object_has_no_placeholders() -> None:
    cluster = Cluster()
    cluster.node("n", (0, 570))
    cluster.node("m", gpus={0: 2})
    assert cluster.presences() == []
