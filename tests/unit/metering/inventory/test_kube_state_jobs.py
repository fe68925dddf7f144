"""Which jobs of kube-state count, and when (rules.md N40). Times in minutes.

Not here: what is done with samples that do not count (tests/integration).
"""

from accounting.core.interval import FAR_MS
from accounting.metering.rules.inventory.kube_state.jobs import (
    NOBODY,
    JobRecord,
    JobRole,
    Jobs,
    NamedJobs,
    Overlaps,
    Run,
    changed_at,
    joined,
    leaders,
    roles_of,
)

MINUTE = 60_000
DAY = 1440
LEADS, SHARD, TOOK, OTHER = (
    JobRole.LEADS,
    JobRole.SHARD,
    JobRole.TOOK_OVER,
    JobRole.OTHER,
)
END = FAR_MS // MINUTE


def job(*runs: tuple[int, int], node: int | None = 0) -> JobRecord:
    """A job with runs; `node` is its first sample of a node, None where it shows none."""
    found = [Run(a * MINUTE, b * MINUTE) for a, b in runs]
    return JobRecord(found, None if node is None else node * MINUTE)


def played(
    jobs: Jobs, overlaps: Overlaps | None = None, named: NamedJobs = NOBODY
) -> dict[str, list[tuple[int, int, JobRole]]]:
    """Every job's roles, in minutes."""
    shared = {pair: at * MINUTE for pair, at in (overlaps or {}).items()}
    return {
        name: [
            (s.period.start_ms // MINUTE, s.period.end_ms // MINUTE, s.role)
            for s in stretches
        ]
        for name, stretches in roles_of(jobs, shared, named).items()
    }


def always(role: JobRole) -> list[tuple[int, int, JobRole]]:
    return [(0, END, role)]


# --- who leads ---------------------------------------------------------------------


def test_all_jobs_that_show_nodes_in_the_first_hour_lead() -> None:
    jobs = {
        "": job((10, DAY), node=10),  # a missing job is a job
        "a": job((15, DAY), node=69),
        "b": job((20, DAY), node=70),
        "c": job((10, DAY), node=None),
    }
    assert leaders(jobs, NOBODY) == {"", "a"}


def test_where_nobody_shows_a_node_all_of_the_first_hour_lead() -> None:
    jobs = {"a": job((0, 5), node=None), "b": job((61, 90), node=61)}
    assert leaders(jobs, NOBODY) == {"a"}


def test_accepted_jobs_lead_beside_them() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    assert leaders(jobs, NamedJobs({"b", "never seen"})) == {"a", "b"}
    assert played(jobs, {("b", "a"): 700}, NamedJobs({"b"}))["b"] == always(LEADS)


def test_listed_jobs_lead_instead_of_the_first_ones() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    assert leaders(jobs, NamedJobs(listed={"b"})) == {"b"}
    assert leaders(jobs, NamedJobs(listed={"never seen"})) == {"a"}
    shared = {("a", "b"): 700}
    assert played(jobs, shared, NamedJobs(listed={"b"}))["a"] == [
        (0, 700, SHARD),
        (700, END, OTHER),
    ]


def test_where_every_source_lists_its_jobs_nobody_else_counts() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    found = played(jobs, named=NamedJobs({"a"}, {"b"}, is_closed=True))
    assert found == {"a": always(OTHER), "b": always(LEADS)}


def test_older_data_decide_anew() -> None:
    """Newest first: what was the first hour is none any more."""
    jobs = {"evil": job((700, 800), node=700), "a": job((700, DAY), node=700)}
    assert leaders(jobs, NOBODY) == {"a", "evil"}
    jobs["a"] = job((0, DAY))
    assert leaders(jobs, NOBODY) == {"a"}


# --- shards and others -------------------------------------------------------------


def test_a_job_of_other_objects_is_a_shard() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    assert played(jobs) == {"a": always(LEADS), "b": always(SHARD)}


def test_a_job_that_shows_what_leaders_know_counts_for_nothing() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    assert played(jobs, {("b", "a"): 0})["b"] == always(OTHER)


def test_a_shard_counts_until_it_shows_what_leaders_know() -> None:
    jobs = {"a": job((0, DAY)), "b": job((700, DAY), node=700)}
    assert played(jobs, {("b", "a"): 900})["b"] == [(0, 900, SHARD), (900, END, OTHER)]


def test_two_shards_that_share_objects_are_replicas() -> None:
    jobs = {
        "a": job((0, DAY)),
        "b": job((700, DAY), node=700),
        "c": job((700, DAY), node=700),
    }
    found = played(jobs, {("b", "c"): 700, ("c", "b"): 700})
    assert found["b"] == found["c"] == always(SHARD)


# --- taking over -------------------------------------------------------------------

RENAMED = {("new", "old"): 0, ("old", "new"): 0}


def test_a_renamed_job_takes_over_after_an_hour_of_silence() -> None:
    jobs = {"old": job((0, 600)), "new": job((601, DAY), node=601)}
    assert played(jobs, RENAMED)["new"] == [(0, 660, OTHER), (660, END, TOOK)]


def test_one_that_comes_after_that_hour_counts_from_its_first_sample() -> None:
    jobs = {"old": job((0, 600)), "new": job((700, DAY), node=700)}
    assert played(jobs, RENAMED)["new"] == [(0, 700, OTHER), (700, END, TOOK)]


def test_an_hour_is_more_than_the_silence_of_an_hour() -> None:
    """They are sampled again when the hour is over: nobody takes over."""
    assert joined([Run(0, 600 * MINUTE), Run(660 * MINUTE, DAY * MINUTE)]) == [
        Run(0, DAY * MINUTE)
    ]


def test_the_first_ones_speak_again_from_their_next_sample_on() -> None:
    jobs = {"old": job((0, 600), (800, DAY)), "new": job((601, DAY), node=601)}
    assert played(jobs, RENAMED) == {
        "old": always(LEADS),
        "new": [(0, 660, OTHER), (660, 800, TOOK), (800, END, OTHER)],
    }


def test_one_that_was_beside_them_takes_nothing_over() -> None:
    jobs = {"old": job((0, 600)), "new": job((600, DAY), node=600)}
    assert played(jobs, RENAMED)["new"] == always(OTHER)


def test_one_that_was_beside_them_after_taking_over_does_not_take_over_again() -> None:
    jobs = {
        "old": job((0, 600), (800, 900)),
        "new": job((601, DAY), node=601),
    }
    assert played(jobs, RENAMED)["new"][-1] == (800, END, OTHER)


def test_all_of_several_have_to_be_silent() -> None:
    jobs = {"a": job((0, 600)), "b": job((0, 900)), "new": job((901, DAY), node=901)}
    shared = {("new", "a"): 0}
    assert played(jobs, shared)["new"] == [(0, 960, OTHER), (960, END, TOOK)]


def test_shards_that_were_renamed_take_over_together() -> None:
    jobs = {
        "a": job((0, 600)),
        "b": job((0, 600)),
        "a-new": job((601, DAY), node=601),
        "b-new": job((602, DAY), node=602),
    }
    shared = {("a-new", "a"): 0, ("b-new", "b"): 0}
    found = played(jobs, shared)
    assert found["a-new"] == found["b-new"] == [(0, 660, OTHER), (660, END, TOOK)]


def test_another_one_beside_the_renamed_job_counts_for_nothing() -> None:
    """Later ones were never beside `old` either, but they are beside `new`."""
    jobs = {
        "old": job((0, 600)),
        "new": job((601, DAY), node=601),
        "evil": job((700, DAY), node=700),
    }
    shared = RENAMED | {("evil", "old"): 0, ("evil", "new"): 0}
    assert played(jobs, shared)["evil"] == always(OTHER)


def test_names_may_change_twice() -> None:
    jobs = {
        "old": job((0, 600)),
        "new": job((601, 800), node=601),
        "newer": job((801, DAY), node=801),
    }
    shared = RENAMED | {("newer", "old"): 0, ("newer", "new"): 0}
    found = played(jobs, shared)
    assert found["new"] == [(0, 660, OTHER), (660, END, TOOK)]
    assert found["newer"] == [(0, 860, OTHER), (860, END, TOOK)]


def test_a_shard_of_the_renamed_job_counts_until_they_share_an_object() -> None:
    jobs = {
        "old": job((0, 600)),
        "new": job((601, DAY), node=601),
        "shard": job((300, DAY), node=300),
    }
    shared = RENAMED | {("shard", "new"): 620}
    assert played(jobs, shared)["shard"] == [(0, 660, SHARD), (660, END, OTHER)]


def test_what_comes_later_changes_nothing_of_what_was() -> None:
    """Each job is cut off after some minutes: roles up to then are those of all data."""
    whole = {
        "a": [(0, 500), (700, 760), (1200, 1300)],
        "b": [(10, 400)],
        "c": [(520, 680), (900, 1400)],
        "d": [(650, 1250)],
        "e": [(1000, 1100)],
    }
    shared = {
        (one, other): 0
        for one in whole
        for other in whole
        if one != other and one > "b"
    }
    wanted = played({name: _cut(runs, END) for name, runs in whole.items()}, shared)
    for at in range(30, 1400, 40):
        jobs = {
            name: record
            for name, runs in whole.items()
            if (record := _cut(runs, at)).runs
        }
        for name, stretches in played(jobs, shared).items():
            for minute in range(0, at, 10):
                assert _role(stretches, minute) == _role(wanted[name], minute), (
                    name,
                    at,
                    minute,
                )


def _cut(runs: list[tuple[int, int]], at: int) -> JobRecord:
    """A job as it is known at a time."""
    known = [(first, min(last, at)) for first, last in runs if first <= at]
    return job(*known, node=runs[0][0])


def _role(stretches: list[tuple[int, int, JobRole]], minute: int) -> JobRole:
    return next(role for low, high, role in stretches if low <= minute < high)


# --- live windows and files --------------------------------------------------------


def test_a_file_that_comes_later_changes_nothing_of_live_windows() -> None:
    live = {"a": job((DAY, 2 * DAY), node=DAY)}
    every = {"evil": job((0, 2 * DAY)), **live}
    shared = {("a", "evil"): DAY * MINUTE}
    found = changed_at(roles_of(every, shared), roles_of(live, {}), DAY * MINUTE)
    assert [(s.period.start_ms // MINUTE, s.role) for s in found["evil"]] == [
        (0, LEADS),
        (DAY, OTHER),
    ]
    assert [(s.period.start_ms // MINUTE, s.role) for s in found["a"]] == [
        (0, SHARD),
        (DAY, LEADS),
    ]
