"""GPUs and their samples, worked out by hand from rules.md: N8, N16, N17, N21, N38, N40.

The oracle and the domain must both say these numbers: neither is taken from the other.
"""

from collections.abc import Sequence

from tests.oracle.both import both
from tests.oracle.ledger import Ledger
from tests.oracle.samples import AMD_ENGINE, LIMIT, POWER, UTIL, UTIL_RATIO, Sample
from tests.oracle.seats import ESTIMATED, INFERRED
from tests.oracle.setup import Setup
from tests.oracle.tiny import Labels, every, gpu, held, ms, named, node, pod, states

ALL = every(30, 0, 570)  # ten minutes; the data end at 600
FIRST = every(30, 0, 270)  # the first window


# --- N8: values that no ratio has ----------------------------------------------------


def test_copies_of_one_wrong_value_do_not_silence_its_name() -> None:
    """One value on a GPU shared by four is shown four times: no data, and nothing more.

    Three of its four 30 s are seen at half its utilization, and those of the other GPU all.
    """
    shares = [str(n) for n in range(4)]
    labels = {"nvidia_com_gpu_replicas": "4", "nvidia_com_gpu_count": "2"}
    samples = node("n1", 8, [0, 30, 60, 90], labels=labels)
    for vgpu in shares:
        samples += gpu("GPU-a", "n1", [0, 60, 90], 0.5, {"vgpu": vgpu}, UTIL_RATIO)
        samples += gpu("GPU-a", "n1", [30], 85, {"vgpu": vgpu}, UTIL_RATIO)
    samples += gpu("GPU-b", "n1", [0, 30, 60, 90], 0.5, metric=UTIL_RATIO)
    book = both(samples)
    # GPU-a: 0-30 and 60-120 seen; the gap of 60 s is more than 1.5 steps of 30 s
    assert states(book, "GPU-a") == {"free": "75", "stray": "45"}
    assert states(book, "GPU-b") == {"free": "60", "stray": "60"}


def test_three_wrong_values_of_different_times_silence_it_in_their_window_only() -> (
    None
):
    """The name is percent from 150 to 270: nothing of it is believed from 0 to 300."""
    samples = node("n1", 1, ALL)
    samples += gpu("GPU-a", "n1", every(30, 0, 120), 0.5, metric=UTIL_RATIO)
    samples += gpu("GPU-a", "n1", every(30, 150, 270), 50, metric=UTIL_RATIO)
    samples += gpu("GPU-a", "n1", every(30, 300, 570), 0.5, metric=UTIL_RATIO)
    assert states(both(samples)) == {"free": "450", "stray": "150"}


def test_two_wrong_values_are_no_data_and_silence_nothing() -> None:
    samples = node("n1", 2, FIRST)
    samples += gpu("GPU-a", "n1", [0], 50, metric=UTIL_RATIO)
    samples += gpu("GPU-b", "n1", [0], 50, metric=UTIL_RATIO)
    samples += gpu("GPU-a", "n1", every(30, 30, 270), 0.5, metric=UTIL_RATIO)
    samples += gpu("GPU-b", "n1", every(30, 30, 270), 0.5, metric=UTIL_RATIO)
    assert states(both(samples), "GPU-a") == {"free": "165", "stray": "135"}


def test_fractions_under_a_name_of_whole_percent_are_ratios() -> None:
    """Three times of one GPU show it; the other's 1 is all of it, and 0 is nothing."""
    samples = node("n1", 3, FIRST)
    samples += gpu("GPU-a", "n1", every(30, 0, 60), 0.5, metric=UTIL)
    samples += gpu("GPU-a", "n1", every(30, 90, 270), 1, metric=UTIL)
    samples += gpu("GPU-b", "n1", FIRST, 1, metric=UTIL)
    samples += gpu("GPU-c", "n1", FIRST, 0, metric=UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "45", "stray": "255"}
    assert states(book, "GPU-b") == {"stray": "300"}
    assert states(book, "GPU-c") == {"free": "300"}


def test_two_fractions_are_not_certain_and_no_data() -> None:
    samples = node("n1", 2, FIRST)
    samples += gpu("GPU-a", "n1", [0, 30], 0.5, metric=UTIL)
    samples += gpu("GPU-a", "n1", every(30, 60, 270), 1, metric=UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "300"}


def test_fractions_beside_whole_percent_are_no_data_of_their_scraper() -> None:
    """Two scales in one source: who writes whole numbers is believed."""
    samples = node("n1", 1, FIRST) + node("n2", 1, FIRST)
    samples += gpu("GPU-a", "n1", FIRST, 0.5, metric=UTIL)
    samples += gpu("GPU-b", "n2", FIRST, 50, {"instance": "d1"}, UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "300"}
    assert states(book, "GPU-b") == {"free": "150", "stray": "150"}


def test_averages_of_percent_are_percent() -> None:
    samples = node("n1", 2, FIRST)
    samples += gpu("GPU-a", "n1", FIRST, 0.5, metric=UTIL)
    samples += gpu("GPU-b", "n1", FIRST, 12.5, metric=UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "298.5", "stray": "1.5"}
    assert states(book, "GPU-b") == {"free": "262.5", "stray": "37.5"}


def test_percent_under_a_name_of_ratios_silences_its_scraper() -> None:
    samples = node("n1", 1, FIRST) + node("n2", 1, FIRST)
    samples += gpu("GPU-a", "n1", every(30, 0, 60), 50)
    samples += gpu("GPU-a", "n1", every(30, 90, 270), 0.5)
    samples += gpu("GPU-b", "n2", FIRST, 0.5, {"instance": "d1"})
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "300"}
    assert states(book, "GPU-b") == {"free": "150", "stray": "150"}


def test_a_declared_name_is_not_silenced_whatever_its_values() -> None:
    """Declared a ratio: 50 is no data, by itself. Declared percent: it is a half."""
    samples = node("n1", 1, FIRST)
    samples += gpu("GPU-a", "n1", every(30, 0, 120), 50, metric=UTIL_RATIO)
    samples += gpu("GPU-a", "n1", every(30, 150, 270), 1, metric=UTIL_RATIO)
    ratio = both(samples, Setup(scales={UTIL_RATIO: "ratio"}))
    assert states(ratio) == {"free": "150", "stray": "150"}
    percent = both(samples, Setup(scales={UTIL_RATIO: "percent"}))
    assert states(percent) == {"free": "223.5", "stray": "76.5"}


# --- N16, units: AMD partitions ------------------------------------------------------


def card(serial: str, kind: str, parts: int, pods: Sequence[str] = ()) -> list[Sample]:
    """An AMD card in partitions; the first is 80 % busy, the others show 0."""
    found = []
    for n in range(parts):
        labels = {"serial_number": serial, "card_model": "AMD Instinct MI300X OAM"}
        labels |= {"gpu_partition_id": str(n), "gpu_compute_partition_type": kind}
        labels |= named(pods[n]) if n < len(pods) else {}
        found += gpu("", "n1", FIRST, 0 if n else 80, labels, AMD_ENGINE)
    return found


def test_partitions_of_amd_cards_are_those_that_the_exporter_shows() -> None:
    """Two cards in QPX, capacity 8, no label: 600 s of wall time, not 2,400.

    A pod has the first quarter of one card: 80 % of 75 s busy. Nothing is known of the
    others: one is held by a second pod, unknown; the rest is free. What the other card did
    is stray: 80 % of its first quarter.
    """
    samples = node("n1", 8, FIRST, resource="amd_com_gpu")
    for name in ("one", "two"):
        samples += pod(name, "n1", FIRST, bound=0, resource="amd_com_gpu")
    samples += card("A", "qpx", 4, ["one", "two"]) + card("B", "qpx", 4)
    book = both(samples)
    assert states(book, uid="u-one") == {"busy": "60", "idle": "15"}
    assert states(book, uid="u-two") == {"unknown": "75"}
    assert states(book, "A", "") == {"free": "150"}
    assert states(book, "B") == {"free": "240", "stray": "60"}
    assert {key[1] for key in book.facts} == {"A", "B"}


def test_the_label_of_an_amd_node_comes_before_what_its_exporter_shows() -> None:
    """Labelled CPX, capacity 8: one card. The exporter shows one of two in SPX."""
    label = {"amd_com_compute_memory_partition": "cpx_nps1"}
    samples = node("n1", 8, FIRST, resource="amd_com_gpu", labels=label)
    samples += card("A", "spx", 1)
    book = both(samples)
    assert states(book) == {"free": "60", "stray": "240"}


def test_an_amd_card_in_spx_is_a_whole_gpu() -> None:
    samples = node("n1", 2, FIRST, resource="amd_com_gpu")
    samples += pod("one", "n1", FIRST, bound=0, resource="amd_com_gpu")
    samples += card("A", "spx", 1, ["one"])
    book = both(samples)
    assert states(book, "A") == {"busy": "240", "idle": "60"}
    assert states(book, "n1/1") == {"free": "300"}


# --- N17: the whole hold -------------------------------------------------------------


def test_labels_of_the_first_minutes_map_a_hold_of_hours() -> None:
    """Both GPUs are half busy; only the first five minutes say which one is held."""
    times, early = every(60, 0, 7140), every(60, 0, 240)
    samples = node("n1", 2, times) + pod("train", "n1", times, bound=0)
    samples += gpu("GPU-a", "n1", times, 1.0)
    samples += gpu("GPU-b", "n1", early, 0.5, named("train"))
    samples += gpu("GPU-b", "n1", every(60, 300, 7140), 0.5)
    book = both(samples)
    assert states(book, uid="u-train") == {"busy": "3600", "idle": "3600"}
    assert states(book, "GPU-a") == {"stray": "7200"}
    assert {fact.flags for fact in book.facts.values()} == {0}


def test_the_gpu_with_most_labels_in_the_whole_hold_is_the_one() -> None:
    """GPU-a for ten minutes, hours ago; GPU-b for twenty, at the end."""
    times = every(60, 0, 7140)
    samples = node("n1", 2, times) + pod("train", "n1", times, bound=0)
    first, last = every(60, 0, 540), every(60, 5940, 7080)
    samples += gpu("GPU-a", "n1", first, 0.0, named("train"))
    samples += gpu("GPU-a", "n1", every(60, 600, 7140), 0.0)
    samples += gpu("GPU-b", "n1", [*every(60, 0, 5880), 7140], 0.5)
    samples += gpu("GPU-b", "n1", last, 0.5, named("train"))
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "7200"}
    assert states(book, "GPU-b") == {"busy": "3600", "idle": "3600"}


# --- N17: a shared GPU ---------------------------------------------------------------


def shared_gpu(*labels: Labels) -> Ledger:
    """One time-sliced GPU whose two pods have one name, as one replaces the other."""
    slicing = {
        "nvidia_com_gpu_count": "1",
        "nvidia_com_gpu_replicas": "2",
        "nvidia_com_gpu_sharing_strategy": "time-slicing",
    }
    samples = node("n1", 2, FIRST, labels=slicing)
    for uid in ("u1", "u2"):
        samples += pod("train", "n1", FIRST, uid=uid, bound=0)
    for each in labels:
        samples += gpu("GPU-a", "n1", FIRST, 0.5, each)
    return both(samples)


def test_a_name_with_and_without_a_uid_is_one_pod_of_a_shared_gpu() -> None:
    """Two scrapers show one arbitrary pod: whose GPU it is, is inferred for both."""
    book = shared_gpu(named("train", "u1"), named("train"))
    assert {fact.flags for fact in book.facts.values()} == {ESTIMATED | INFERRED}


def test_two_uids_of_a_name_are_two_pods_of_a_shared_gpu() -> None:
    """Samples name both: nothing is inferred."""
    book = shared_gpu(named("train", "u1"), named("train", "u2"))
    assert len(book.facts) == 2
    assert not any(fact.flags & INFERRED for fact in book.facts.values())


# --- N21: zeros that nobody believes -------------------------------------------------

MIG = {
    "nvidia_com_mig_strategy": "mixed",
    "nvidia_com_gpu_product": "NVIDIA-A100-SXM4-80GB",
    "nvidia_com_gpu_count": "1",
}
HALF = {"GPU_I_ID": "1", "GPU_I_PROFILE": "3g.40gb"}


def zeros_on_mig(**others: float) -> list[Sample]:
    """One 3g.40gb held by a pod, whose engine shows 0, beside other metrics."""
    resource = "nvidia_com_mig_3g_40gb"
    samples = node("n1", 1, FIRST, resource=resource, labels=MIG)
    samples += pod("train", "n1", FIRST, bound=0, resource=resource)
    samples += gpu("GPU-a", "n1", FIRST, 0.0, HALF | named("train"))
    names = {"util": UTIL, "power": POWER, "limit": LIMIT}
    for name, value in others.items():
        samples += gpu("GPU-a", "n1", FIRST, value, HALF, names[name])
    return samples


def test_zeros_on_mig_are_suspect_where_utilisation_there_says_otherwise() -> None:
    """Three sevenths of 300 s."""
    book = both(zeros_on_mig(util=20))
    assert states(book, uid="u-train") == {"unknown": "128.571"}


def test_a_profile_that_is_rounded_is_that_of_the_table() -> None:
    """The exporter writes 3g.39gb where the pod requested mig-3g.40gb; 4/7 are stranded."""
    resource = "nvidia_com_mig_3g_40gb"
    samples = node("n1", 1, FIRST, resource=resource, labels=MIG)
    samples += pod("train", "n1", FIRST, bound=0, resource=resource)
    shown = {"GPU_I_ID": "1", "GPU_I_PROFILE": "3g.39gb"} | named("train")
    samples += gpu("GPU-a", "n1", FIRST, 0.5, shown)
    book = both(samples)
    assert states(book, uid="u-train") == {"busy": "64.286", "idle": "64.286"}


def test_power_of_the_whole_card_makes_no_instance_suspect() -> None:
    book = both(zeros_on_mig(power=400, limit=500))
    assert states(book, uid="u-train") == {"idle": "128.571"}


def test_power_makes_zeros_of_a_whole_gpu_suspect() -> None:
    samples = node("n1", 1, FIRST) + pod("train", "n1", FIRST, bound=0)
    samples += gpu("GPU-a", "n1", FIRST, 0.0, named("train"))
    samples += gpu("GPU-a", "n1", FIRST, 400, metric=POWER)
    samples += gpu("GPU-a", "n1", FIRST, 500, metric=LIMIT)
    assert states(both(samples)) == {"unknown": "300"}


# --- N38: the end of a cluster -------------------------------------------------------


def test_a_retired_cluster_ends_then_whatever_is_sampled_after() -> None:
    samples = node("n1", 2, ALL) + pod("train", "n1", ALL, bound=0)
    samples += pod("late", "n1", every(30, 450, 570), bound=450)
    samples += gpu("GPU-a", "n1", ALL, 0.5, named("train"))
    book = both(samples, Setup(retired=ms(400)))
    assert held(book) == {"u-train": (0, 400, "retired")}
    assert states(book, "GPU-a") == {"busy": "200", "idle": "200"}
    assert states(book, "n1/1") == {"free": "400"}


def test_what_ended_before_a_cluster_did_keeps_its_end() -> None:
    samples = node("n1", 1, ALL) + pod("train", "n1", every(30, 0, 210), bound=0)
    book = both(samples, Setup(retired=ms(400)))
    assert held(book) == {"u-train": (0, 240, "gone")}
    assert states(book) == {"unknown": "240", "free": "160"}


# --- N40: UUIDs beyond the capacity --------------------------------------------------


def test_a_higher_capacity_gives_a_uuid_presence_from_its_first_sample() -> None:
    """The second GPU is sampled from 120 on, kube-state says two from 300 on."""
    samples = node("n1", 1, FIRST) + node("n1", 2, every(30, 300, 570))
    samples += gpu("GPU-a", "n1", ALL, 0.0)
    samples += gpu("GPU-b", "n1", every(30, 120, 570), 0.0)
    book = both(samples)
    assert states(book, "GPU-b") == {"free": "480"}


def test_a_gpu_that_takes_the_place_of_a_silent_one_is_there() -> None:
    """GPU-a is last sampled at 270, and GPU-b first at 300."""
    samples = node("n1", 1, ALL) + gpu("GPU-a", "n1", FIRST, 0.0)
    samples += gpu("GPU-b", "n1", every(30, 300, 570), 0.0)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "300"}
    assert states(book, "GPU-b") == {"free": "300"}


def test_where_no_capacity_is_known_every_uuid_is_there() -> None:
    samples = gpu("GPU-a", "n1", FIRST, 0.0) + gpu("GPU-b", "n1", FIRST, 0.0)
    assert states(both(samples)) == {"dark": "600"}
