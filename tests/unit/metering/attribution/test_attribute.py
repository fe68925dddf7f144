"""States of whole GPUs: what is sampled, held, both or neither (rules N5, N6, N14-N23).

Traps T17, T18, T19, T20c and T23 with their numbers, in the small. Not here: partitions,
sharing and claims; files and the database (integration).
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.core.ledger_line import ESTIMATED, INFERRED
from tests.unit.metering.fleet import Fleet


def test_held_and_sampled_is_busy_and_idle() -> None:
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.75), pod="a")
    assert fleet.seconds("G", "a") == {"busy": 450, "idle": 150}
    assert fleet.seconds("G") == {}


def test_gap_is_unknown_and_never_idle() -> None:
    """T23a: 40 of 60 minutes observed at 0.9."""
    fleet = Fleet(until=3600)
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.9, end=2400), pod="a")
    assert fleet.seconds("G", "a") == {"busy": 2160, "idle": 240, "unknown": 1200}


def test_short_hold_is_not_stretched_to_the_hour() -> None:
    """T23b: ten minutes at 0.9."""
    fleet = Fleet(until=3600)
    fleet.node("n", 1)
    fleet.pod("a", "n", 600, [t for t in fleet.scrapes if t >= 600], ended=1200)
    fleet.gpu("G", "n", fleet.every(0.9, 600, 1200), pod="a")
    fleet.gpu("G", "n", fleet.every(0, 0, 600) | fleet.every(0, 1200))
    assert fleet.seconds("G", "a") == {"busy": 540, "idle": 60}
    assert fleet.seconds("G") == {"free": 3000}


def test_gpu_without_a_pod_is_not_one_category() -> None:
    """T17: free, stray, and inferred to the one holder without a GPU."""
    fleet = Fleet()
    fleet.node("n", 3)
    fleet.gpu("b", "n", fleet.every(0.0))
    fleet.gpu("c", "n", fleet.every(0.97))
    assert fleet.seconds("b") == {"free": 600}
    assert fleet.seconds("c") == {"stray": 582, "free": 18}

    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("x", "n", 0, fleet.scrapes)
    fleet.gpu("d", "n", fleet.every(0.5))
    assert fleet.seconds("d", "x") == {"busy": 300, "idle": 300}
    flags = {line.flags for ledger in fleet.ledgers() for line in ledger.lines}
    assert flags == {INFERRED}


def test_pool_fills_the_busiest_gpu_first() -> None:
    fleet = Fleet()
    fleet.node("n", 2)
    fleet.pod("x", "n", 0, fleet.scrapes)
    fleet.gpu("a", "n", fleet.every(0.2))
    fleet.gpu("b", "n", fleet.every(0.8))
    assert fleet.seconds("b", "x") == {"busy": 480, "idle": 120}
    assert fleet.seconds("a") == {"stray": 120, "free": 480}


def test_pool_of_two_holds_is_divided_by_units_and_says_so() -> None:
    fleet = Fleet()
    fleet.node("n", 3)
    fleet.pod("x", "n", 0, fleet.scrapes, units=2)
    fleet.pod("y", "n", 0, fleet.scrapes)
    for uuid in "abc":
        fleet.gpu(uuid, "n", fleet.every(0.6))
    x = sum(fleet.seconds(uuid, "x")["busy"] for uuid in "abc")
    y = sum(fleet.seconds(uuid, "y")["busy"] for uuid in "abc")
    assert (x, y) == (720, 360)
    flags = {line.flags for ledger in fleet.ledgers() for line in ledger.lines}
    assert flags == {INFERRED | ESTIMATED}


def test_stale_label_does_not_stretch_a_hold() -> None:
    """T18: the pod ended at 300 s; its label stays on the GPU until 450 s."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes, ended=300)
    fleet.gpu("G", "n", fleet.every(0.5, end=300) | fleet.every(0, 300, 450), pod="a")
    fleet.gpu("G", "n", fleet.every(0, 450))
    assert fleet.seconds("G", "a") == {"busy": 150, "idle": 150}
    assert fleet.seconds("G") == {"free": 300}


def test_start_up_is_held_and_pending_is_not() -> None:
    """T19, T20c: held from bind; a pod without a node holds nothing."""
    fleet = Fleet()
    fleet.node("n", 2)
    fleet.pod("a", "n", 100, [t for t in fleet.scrapes if t >= 100])
    fleet.pod("waits", "", 0, fleet.scrapes, units=8)
    fleet.gpu("G", "n", fleet.every(0.0))
    held = fleet.seconds("G", "a")
    assert sum(held.values()) == 500
    assert all(line.pod_uid != "uid-waits" for x in fleet.ledgers() for line in x.lines)


def test_first_sample_after_a_change_covers_the_time_back_to_it() -> None:
    """N6: bound at 310, sampled at 330: within 1.5 steps."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 310, [t for t in fleet.scrapes if t > 310])
    fleet.gpu("G", "n", fleet.every(0, end=310))
    fleet.gpu("G", "n", fleet.every(1.0, 310), pod="a")
    assert fleet.seconds("G", "a") == {"busy": 290}
    assert fleet.seconds("G") == {"free": 310}


def test_nobody_knows_without_kube_state() -> None:
    """N21: kube-state is silent from 300 s on; the GPU is still sampled."""
    fleet = Fleet()
    fleet.node("n", 1, [t for t in fleet.scrapes if t < 300])
    fleet.gpu("G", "n", fleet.every(0.4))
    assert fleet.seconds("G") == {"stray": 120, "free": 180, "dark": 300}


def test_gpu_that_no_sample_names_is_unknown_to_its_holder() -> None:
    """N16: the capacity stands for a GPU before any sample does."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    assert fleet.seconds("n/0", "a") == {"unknown": 600}


def test_swapped_gpu_is_in_one_place() -> None:
    """N15: silent on n1 after 270 s, sampled on n2 from 330 s on."""
    fleet = Fleet()
    fleet.node("n1", 1)
    fleet.node("n2", 1)
    fleet.gpu("G", "n1", fleet.every(0, end=300))
    fleet.gpu("G", "n2", fleet.every(0, 330))
    assert fleet.seconds("G") == {"free": 300 + 270}


def test_suspect_zeros_are_unknown() -> None:
    """N21: the engine shows zeros while utilisation says 90 %."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    fleet.gpu("G", "n", fleet.every(0.0), pod="a")
    fleet.gpu("G", "n", fleet.every(0.9), pod="a", metric="gpu_util")
    assert fleet.seconds("G", "a") == {"unknown": 600}
    codes = {issue.code for ledger in fleet.ledgers() for issue in ledger.issues}
    assert codes == {"suspect_silence"}


@settings(max_examples=40, deadline=None)
@given(
    utilizations=st.lists(
        st.one_of(st.none(), st.floats(0, 1.2)), min_size=20, max_size=20
    ),
    bound=st.floats(0, 500),
    length=st.floats(0, 400),
    seen=st.integers(1, 20),
    units=st.integers(1, 3),
)
def test_every_gpu_sums_to_its_presence(
    utilizations: list[float | None], bound: float, length: float, seen: int, units: int
) -> None:
    fleet = Fleet()
    fleet.node("n", 2, fleet.scrapes[:seen])
    shown = [t for t in fleet.scrapes if t >= bound]
    if shown:
        fleet.pod("a", "n", bound, shown, units=units, ended=bound + length)
    samples = {
        t: d for t, d in zip(fleet.scrapes, utilizations, strict=True) if d is not None
    }
    if samples:
        fleet.gpu("G", "n", samples, pod="a")
    for ledger in fleet.ledgers():
        present: dict[str, int] = {}
        for line in ledger.lines:
            assert min(line.busy_ms, line.idle_ms, line.unknown_ms, line.free_ms) >= 0
            present[line.uuid] = present.get(line.uuid, 0) + line.total_ms
        for uuid in ("G", "n/0", "n/1"):
            assert present.get(uuid, 0) == fleet.present_ms(uuid, ledger.window)
