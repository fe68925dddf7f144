"""What kube-state shows, worked out by hand from rules.md: N4, N9, N11, N13, N40.

The oracle and the domain must both say these numbers: neither is taken from the other. One
GPU at half its utilization, so that seconds held are half busy and half idle.
"""

from tests.oracle.both import both
from tests.oracle.samples import Sample
from tests.oracle.setup import Setup
from tests.oracle.tiny import KSM, every, gpu, held, ms, named, node, pod, states

ALL = every(30, 0, 570)  # ten minutes; the data end at 600
A, B = KSM | {"instance": "a"}, KSM | {"instance": "b"}


def without(times: list[int], low: int, high: int) -> list[int]:
    """Times outside of [low, high)."""
    return [at for at in times if not low <= at < high]


# --- N11: nodes that vanish and come back --------------------------------------------


def test_a_node_that_misses_two_scrapes_ends_no_hold_that_is_shown_again() -> None:
    samples = node("n1", 1, without(ALL, 240, 300)) + pod("train", "n1", ALL, bound=0)
    samples += gpu("GPU-a", "n1", ALL, 0.5, named("train"))
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    assert states(book, "GPU-a") == {"busy": "300", "idle": "300"}


def test_a_node_and_a_pod_that_miss_two_scrapes_together_were_never_gone() -> None:
    """The node is a new object, and its GPU begins anew: the pod has it there again."""
    times = without(ALL, 240, 300)
    samples = node("n1", 1, times) + pod("train", "n1", times, bound=0)
    samples += node("n0", 1, ALL)  # somebody is seen all the time
    samples += gpu("GPU-a", "n1", times, 0.5, named("train"))
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    assert states(book, "GPU-a") == {"busy": "270", "idle": "270"}  # away for 60 s
    assert states(book, "n0/0") == {"free": "600"}


def test_the_end_of_a_node_ends_a_hold_that_is_not_shown_again() -> None:
    """Node and pod are last shown at 210; the node is there again from 420 on."""
    samples = node("n1", 1, without(ALL, 240, 420))
    samples += pod("train", "n1", every(30, 0, 210), bound=0)
    samples += node("n0", 1, ALL)
    assert held(both(samples)) == {"u-train": (0, 240, "gone")}


def test_a_pod_that_is_shown_when_its_node_has_ended_is_not_ended_by_it() -> None:
    """The node is last shown at 180 and ends at 210, when the pod is shown once more."""
    samples = node("n1", 1, every(30, 0, 180))
    samples += pod("train", "n1", every(30, 0, 210), bound=0)
    samples += node("n0", 1, ALL)
    assert held(both(samples)) == {"u-train": (0, 240, "gone")}


# --- N11: shards of kube-state -------------------------------------------------------


def test_a_shard_of_other_objects_lacks_neither_pod_nor_node() -> None:
    """The pod is on shard a, its node on shard b; both are scraped every 60 s."""
    on_a, on_b = every(60, 0, 540), every(60, 20, 560)
    samples = pod("train", "n1", on_a, A, bound=0) + node("n1", 1, on_b, B)
    samples += node("n2", 1, on_a, A)
    samples += gpu("GPU-a", "n1", every(60, 0, 540), 0.5, named("train"))
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    # shard b is the last to be seen: until 620, with nothing measured after 600
    assert states(book, "GPU-a") == {"busy": "300", "idle": "300", "unknown": "20"}


def test_the_own_shard_lacks_a_pod_and_the_other_goes_on() -> None:
    on_a, on_b = every(60, 0, 540), every(60, 20, 560)
    samples = pod("train", "n1", on_a[:4], A, bound=0) + node("n1", 1, on_b, B)
    samples += node("n2", 1, on_a, A)
    assert held(both(samples)) == {"u-train": (0, 240, "gone")}  # 180, and a step of 60


def test_before_its_first_capacity_a_node_has_room_for_the_first_one() -> None:
    """Shard b shows the node from 140 on; both pods of shard a are bound before that.

    Without the new pod the old one would end at 60: its last sample and a step.
    """
    old, new = (
        pod("old", "n1", [0], A, bound=0),
        pod("new", "n1", [60, 120], A, bound=30),
    )
    nodes = node("n1", 1, every(60, 140, 560), B) + node("n2", 1, every(60, 0, 540), A)
    assert held(both(old + nodes)) == {"u-old": (0, 60, "gone")}
    assert held(both(old + new + nodes)) == {
        "u-old": (0, 30, "gone"),
        "u-new": (30, 180, "gone"),
    }


def test_a_pod_of_a_shard_that_fell_silent_is_held_while_another_is_seen() -> None:
    """Shard a is last scraped at 180 and nobody lacks its pod: booked until 620."""
    on_b = every(60, 20, 560)
    samples = pod("train", "n1", every(60, 0, 180), A, bound=0)
    samples += node("n1", 1, on_b, B) + gpu("GPU-a", "n1", ALL, 0.5)
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    assert states(book, "GPU-a") == {"busy": "300", "idle": "300", "unknown": "20"}


def test_a_label_keeps_the_pod_of_a_silent_shard_while_another_is_away_once() -> None:
    """Shard a ends at 180; b is away from 200 to 380, and its return is no evidence (N13)."""
    on_b = [at for at in every(60, 20, 560) if not 200 < at < 380]
    samples = pod("train", "n1", every(60, 0, 180), A, bound=0)
    samples += node("n1", 1, on_b, B)
    samples += gpu("GPU-a", "n1", every(60, 0, 540), 0.5, named("train"))
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    assert states(book, "GPU-a") == {"busy": "300", "idle": "300", "free": "20"}


def test_a_pod_of_a_silent_shard_is_booked_until_nobody_is_seen() -> None:
    """Shard a is last scraped at 90, b at 95 and again from 305 on: nobody lacks the pod.

    From 125 to 305 nothing is known of anybody. From 305 on kube-state is seen, and does not
    show it.
    """
    samples = pod("train", "n1", every(30, 0, 90), A, bound=0)
    samples += node("n1", 1, [*every(30, 5, 95), *every(30, 305, 575)], B)
    book = both(samples)
    assert held(book) == {"u-train": (0, None, "")}
    assert states(book) == {"unknown": "120", "dark": "180", "free": "300"}


def test_a_replica_that_never_showed_a_pod_lacks_it_after_a_restart() -> None:
    """Instance a shows the pod until 240; b is scraped from 270 on and lacks it."""
    samples = pod("train", "n1", every(30, 0, 240), A, bound=0)
    samples += node("n1", 1, every(30, 0, 240), A)
    samples += node("n1", 1, every(30, 270, 570), B)
    assert held(both(samples)) == {"u-train": (0, 270, "gone")}


# --- N4: steps after a restart -------------------------------------------------------


def test_a_restarted_kube_state_has_the_last_known_step_of_its_job() -> None:
    """Scraped every 120 s until 10:10, then by another instance at 11:00 and 11:02.

    That is seen until 11:04, two steps. With 30 s it would be dark for three minutes of four.
    """
    old, new = every(120, 0, 600), [3600, 3720]
    samples = node("n1", 1, old, A) + node("n1", 1, new, B)
    samples += gpu("GPU-a", "n1", every(60, 0, 3780), 0.0)
    book = both(samples)
    # 0-720 and 3600-3840 seen, 720-3600 not
    assert states(book, "GPU-a") == {"free": "960", "dark": "2880"}


def test_a_new_instance_has_the_step_of_the_others_that_are_scraped() -> None:
    """Replica a every 120 s throughout; b alone would be thought to have 30 s."""
    on_a = every(120, 0, 600)
    samples = node("n1", 1, on_a, A) + node("n1", 1, [720], B)
    book = both(samples)
    assert states(book, "n1/0") == {"free": "840"}  # 720 and a step of 120


def test_a_job_that_was_never_seen_has_thirty_seconds() -> None:
    samples = node("n1", 1, [0], KSM | {"job": "one"})
    samples += gpu("GPU-a", "n1", every(30, 0, 90), 0.0)
    assert states(both(samples), "GPU-a") == {"free": "30", "dark": "90"}


# --- N13: labels while kube-state is silent ------------------------------------------


def test_a_pod_that_was_only_pending_gets_a_hold_by_its_label() -> None:
    """kube-state falls silent at 150 with the pod Pending; its label comes at 300."""
    seen = every(30, 0, 120)
    samples = node("n1", 1, seen) + pod("train", "", seen)
    samples += gpu("GPU-a", "n1", every(30, 0, 270), 0.5)
    samples += gpu("GPU-a", "n1", every(30, 300, 570), 0.5, named("train", "u-train"))
    book = both(samples)
    assert held(book) == {"u-train": (300, None, "")}
    assert states(book, "GPU-a", "u-train") == {"busy": "150", "idle": "150"}
    # not held: half of 0-150 is stray; 150-300 is not known
    assert states(book, "GPU-a", "") == {"free": "75", "stray": "75", "dark": "150"}


def test_a_pending_pod_without_a_uid_on_its_label_has_one_of_its_name() -> None:
    seen = every(30, 0, 120)
    samples = node("n1", 1, seen) + pod("train", "", seen)
    samples += gpu("GPU-a", "n1", every(30, 0, 570), 0.5, named("train"))
    assert held(both(samples)) == {"team/train": (150, None, "")}


def test_a_pod_that_kube_state_shows_there_later_has_no_second_hold() -> None:
    """Bound at 200 while nobody looked, shown from 420 on: its hold begins at 200."""
    samples = node("n1", 1, without(ALL, 150, 420)) + pod(
        "train", "", every(30, 0, 120)
    )
    samples += pod("train", "n1", every(30, 420, 570), bound=200)
    samples += gpu("GPU-a", "n1", ALL, 0.5, named("train", "u-train"))
    assert held(both(samples)) == {"u-train": (200, None, "")}


def test_a_reused_name_is_of_the_pod_that_was_bound_last() -> None:
    """train u1 is seen until 150; u2 of that name is bound at 300 and shown from 420 on.

    The label keeps u1 until 300, one step after its last sample before that bind (270).
    """
    samples = node("n1", 1, without(ALL, 150, 420))
    samples += pod("train", "n1", every(30, 0, 120), uid="u1", bound=0)
    samples += pod("train", "n1", every(30, 420, 570), uid="u2", bound=300)
    samples += gpu("GPU-a", "n1", ALL, 0.5, named("train"))
    book = both(samples)
    assert held(book) == {"u1": (0, 300, "gone"), "u2": (300, None, "")}
    assert states(book, uid="u1") == {"busy": "150", "idle": "150"}
    assert states(book, uid="u2") == {"busy": "150", "idle": "150"}


# --- N40: whose kube-state counts ----------------------------------------------------

EVIL = {"job": "evil", "instance": "e0"}
HOUR = 3600


def test_a_job_of_other_objects_only_is_a_shard_and_counts() -> None:
    samples = node("n1", 2, ALL) + pod("train", "n1", ALL, bound=0)
    samples += pod("tune", "n2", ALL, EVIL, bound=0)
    assert sorted(held(both(samples))) == ["u-train", "u-tune"]


def test_a_job_that_books_a_pod_on_a_known_node_is_no_shard() -> None:
    samples = node("n1", 2, ALL) + pod("train", "n1", ALL, bound=0)
    samples += pod("tune", "n1", ALL, EVIL, bound=0)
    assert list(held(both(samples))) == ["u-train"]


def test_a_renamed_job_takes_over_when_the_first_was_silent_for_an_hour() -> None:
    """The first is sampled last at 3900, so the new name counts from 7500 on."""
    new = {"job": "new", "instance": "k1"}
    samples = node("n1", 2, every(60, 0, 3900)) + node(
        "n1", 2, every(60, 4200, 9000), new
    )
    samples += pod("late", "n1", every(60, 4200, 9000), new, bound=8100)
    samples += pod("short", "n1", every(60, 4200, 7200), new, bound=4200)
    assert held(both(samples)) == {"u-late": (8100, None, "")}


def test_jobs_that_show_nodes_in_the_first_hour_all_speak_and_a_missing_job_is_one() -> (
    None
):
    nameless = {"instance": "k1"}
    samples = node("n1", 1, ALL) + node("n2", 1, ALL, nameless)
    samples += pod("one", "n1", ALL, nameless, bound=0)
    samples += pod("two", "n2", ALL, KSM, bound=0)
    assert sorted(held(both(samples))) == ["u-one", "u-two"]


def test_jobs_of_the_source_are_those_that_speak() -> None:
    """Without the list, both would: both show a node in the first hour."""
    samples = node("n1", 1, ALL) + pod("train", "n1", ALL, bound=0)
    samples += node("n1", 1, ALL, EVIL) + pod("evil", "n1", ALL, EVIL, bound=0)
    assert sorted(held(both(samples))) == ["u-evil", "u-train"]
    book = both(samples, Setup(jobs=("ksm", "dcgm")))
    assert list(held(book)) == ["u-train"]


def test_samples_of_another_job_do_not_end_what_the_first_shows() -> None:
    """It is scraped once, between two scrapes of the first, and lacks the pod."""
    stranger = Sample("kube_node_info", EVIL | {"node": "n1"}, ms(4215), 1)
    times = every(30, 0, 4500)
    samples = [*node("n1", 1, times), *pod("train", "n1", times, bound=0), stranger]
    samples += gpu("GPU-a", "n1", times, 0.5, named("train"))
    assert held(both(samples)) == {"u-train": (0, None, "")}


# --- N10: labels of the scraped target -----------------------------------------------


def test_the_node_of_kube_state_is_not_that_of_a_pod_that_waits() -> None:
    """An empty `node` is no label, and Prometheus adds its target's: n2, which has a GPU."""
    scraper = KSM | {"node": "n2"}
    waits = pod("train", "n2", every(30, 0, 270), scraper)
    runs = pod("train", "n1", every(30, 300, 570), scraper, bound=300)
    samples = [*waits, *runs, *node("n1", 1, ALL), *node("n2", 1, ALL)]
    phase = {"namespace": "team", "pod": "train", "uid": "u-train", "phase": "Pending"}
    for at in every(30, 0, 270):
        samples.append(Sample("kube_pod_status_phase", scraper | phase, ms(at), 1))
    book = both(samples)
    assert held(book) == {"u-train": (300, None, "")}
    assert states(book, "n1/0") == {"free": "300", "unknown": "300"}
    assert states(book, "n2/0") == {"free": "600"}


def test_a_pod_on_the_node_of_kube_state_is_there_from_its_bind_on() -> None:
    scraper = KSM | {"node": "n1"}
    samples = pod("waits", "n1", ALL, scraper)
    samples += pod("train", "n1", every(30, 0, 270), scraper)
    samples += pod("train", "n1", every(30, 300, 570), scraper, bound=300)
    book = both([*samples, *node("n1", 1, ALL)])
    assert held(book) == {"u-train": (300, None, "")}
    assert states(book, "n1/0") == {"free": "300", "unknown": "300"}


# --- Units: what is left of a partitioning -------------------------------------------


def test_a_resource_with_nothing_allocatable_beside_another_is_left_over() -> None:
    """Two whole GPUs, which were 14 instances once: as long as one is allocatable."""
    samples = node("n1", 2, ALL)
    for at in ALL:
        for resource, units in (("nvidia_com_gpu", 2), ("nvidia_com_mig_1g_10gb", 0)):
            key = KSM | {"node": "n1", "resource": resource, "unit": "integer"}
            usable = 0 if at >= 300 else units
            samples.append(Sample("kube_node_status_allocatable", key, ms(at), usable))
    old = {"node": "n1", "resource": "nvidia_com_mig_1g_10gb", "unit": "integer"}
    samples += [
        Sample("kube_node_status_capacity", KSM | old, ms(at), 14) for at in ALL
    ]
    book = both(samples)
    assert states(book, "n1/1") == {"free": "600"}
    assert states(book, "n1/2") == {"free": "300"}  # all is out of order: all counts


def test_instances_are_left_over_where_no_strategy_offers_them() -> None:
    samples = node("n1", 2, ALL, labels={"nvidia_com_mig_strategy": "none"})
    samples += node("n1", 14, ALL, resource="nvidia_com_mig_1g_10gb")
    assert states(both(samples)) == {"free": "1200"}


# --- N11: pods that the kubelet refused ----------------------------------------------


def failed(name: str, at: list[int], bound: int, reason: str = "") -> list[Sample]:
    """A pod that kube-state shows as failed, from the first of these times on."""
    key = KSM | {"namespace": "team", "pod": name, "uid": f"u-{name}"}
    found = pod(name, "n1", at, bound=bound)
    for t in at:
        found.append(
            Sample("kube_pod_status_phase", key | {"phase": "Failed"}, ms(t), 1)
        )
        if reason:
            why = key | {"reason": reason}
            found.append(Sample("kube_pod_status_reason", why, ms(t), 1))
    return found


def test_a_pod_that_was_only_ever_failed_held_nothing() -> None:
    samples = failed("refused", every(30, 120, 570), 95) + node("n1", 1, ALL)
    book = both(samples)
    assert held(book) == {"u-refused": (95, 95, "Failed")}
    assert states(book) == {"free": "600"}


def test_a_reason_of_the_kubelet_says_that_a_pod_held_nothing() -> None:
    """It was shown on its node once before it failed."""
    samples = pod("refused", "n1", [120], bound=115) + node("n1", 1, ALL)
    samples += failed("refused", every(30, 150, 570), 115, "UnexpectedAdmissionError")
    assert held(both(samples)) == {"u-refused": (115, 115, "Failed")}


def test_a_pod_that_two_samples_name_before_it_failed_ran() -> None:
    samples = failed("ran", every(30, 240, 570), 95) + node("n1", 1, ALL)
    samples += gpu("GPU-a", "n1", [120, 150], labels=named("ran"))
    assert held(both(samples)) == {"u-ran": (95, 240, "Failed")}


def test_a_pod_that_one_sample_names_may_have_been_refused() -> None:
    samples = failed("refused", every(30, 240, 570), 95) + node("n1", 1, ALL)
    samples += gpu("GPU-a", "n1", [120], labels=named("refused"))
    assert held(both(samples)) == {"u-refused": (95, 95, "Failed")}


def test_a_pod_that_fails_later_than_five_minutes_held_its_gpu() -> None:
    """Kube-state is away meanwhile: it may have run."""
    away = without(ALL, 60, 480)
    samples = failed("train", every(30, 480, 570), 90) + node("n1", 1, away)
    assert held(both(samples)) == {"u-train": (90, 480, "Failed")}


# --- N14: a name of no node ----------------------------------------------------------


def test_the_first_label_that_names_a_node_is_where_a_gpu_is() -> None:
    samples = node("n1", 1, ALL) + pod("train", "n1", ALL, bound=0)
    labels = named("train") | {"node": "n1"}
    samples += gpu("GPU-a", "dcgm-6ldbb", ALL, 0.5, labels)
    book = both(samples)
    assert states(book) == {"busy": "300", "idle": "300"}
    assert states(book, "GPU-a") == states(book)
