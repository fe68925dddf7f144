"""What samples show of the jobs of kube-state, and which of them count (rules.md N40).

Times of samples are in seconds. Not here: which job has which role (`test_kube_state_jobs.py`),
and issues (`test_job_issues.py`).
"""

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.kube_state.job_samples import (
    EVER,
    Object,
    Side,
    counting,
    merged,
    objects,
    records,
)
from accounting.metering.rules.inventory.kube_state.jobs import (
    JobRecord,
    JobRole,
    RoleInterval,
    Run,
)
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series
from tests.unit.metering.kube_jobs import REQUESTS, WHOLE, during, kube
from tests.unit.metering.kube_series import ones, series

HOUR = 3600
LEADS, SHARD, TOOK, OTHER = (
    JobRole.LEADS,
    JobRole.SHARD,
    JobRole.TOOK_OVER,
    JobRole.OTHER,
)


def is_file(reading: Reading) -> bool:
    return reading.is_file


def never(_: Reading) -> bool:
    return False


# --- records -------------------------------------------------------------------------


def runs_of(
    *found: Series, period: Interval = WHOLE
) -> dict[str, list[tuple[int, int]]]:
    """The runs of each job, in seconds."""
    return {
        side.job: [(run.first_ms // 1000, run.last_ms // 1000) for run in record.runs]
        for side, record in records([Reading(found)], period, never).items()
    }


def test_a_run_ends_with_more_than_an_hour_of_silence() -> None:
    node, pod = "node_info", "pod_info"
    assert runs_of(kube("a", pod, 0, HOUR)) == {"a": [(0, HOUR)]}
    assert runs_of(kube("a", pod, 0, HOUR + 1)) == {"a": [(0, 0), (HOUR + 1, HOUR + 1)]}
    three = kube("a", pod, 0, 60, 9000, 9060, 20_000)
    assert runs_of(three) == {"a": [(0, 60), (9000, 9060), (20_000, 20_000)]}
    # another series of the job fills the silence; one of another job does not
    filled = kube("a", pod, 0, 2 * HOUR), kube("a", node, HOUR), kube("b", pod, HOUR)
    assert runs_of(*filled) == {"a": [(0, 2 * HOUR)], "b": [(HOUR, HOUR)]}


def test_only_samples_of_kube_state_in_the_period_are_recorded() -> None:
    found = (
        kube("a", "pod_info", 59, 60, 119, 120),
        kube("b", "pod_info", 120),
        series("up", ones(60), {}, ScraperIdentity("c")),
        kube("d", "pod_info", 60),
    )
    period = Interval(60_000, 120_000)
    assert runs_of(*found, period=period) == {"a": [(60, 119)], "d": [(60, 60)]}


def test_the_first_sample_of_a_node_is_noted() -> None:
    found = records(
        [
            Reading((kube("a", "node_info", 120), kube("b", "pod_info", 0))),
            Reading((kube("a", "node_labels", 60, 180), kube("a", "pod_info", 0))),
        ],
        WHOLE,
        never,
    )
    assert found == {
        Side("a"): JobRecord([Run(0, 180_000)], 60_000),
        Side("b"): JobRecord([Run(0, 0)], None),
    }


def test_a_late_file_is_another_side_of_its_job() -> None:
    live = Reading((kube("a", "node_info", 0),))
    late = Reading((kube("a", "node_info", 60),), is_file=True)
    assert records([live, late], WHOLE, is_file) == {
        Side("a"): JobRecord([Run(0, 0)], 0),
        Side("a", is_late=True): JobRecord([Run(60_000, 60_000)], 60_000),
    }


@pytest.mark.parametrize(
    ("one", "other", "node"),
    [(None, None, None), (5, None, 5), (None, 0, 0), (7, 5, 5)],
)
def test_two_records_become_one(
    one: int | None, other: int | None, node: int | None
) -> None:
    hour = HOUR * 1000
    last = Run(4 * hour, 4 * hour)
    first = JobRecord([Run(0, 10), last], one)
    far = JobRecord([Run(hour + 11, 2 * hour)], other)
    expected = [Run(0, 10), Run(hour + 11, 2 * hour), last]
    assert merged(first, far) == merged(far, first) == JobRecord(expected, node)
    near = JobRecord([Run(hour + 10, 2 * hour)], other)
    assert merged(first, near).runs == [Run(0, 2 * hour), last]


# --- objects -------------------------------------------------------------------------

POD = {"namespace": "ns", "pod": "a", "uid": "u"}
NAMESPACE = Object("namespace ns", is_reference=True)


def reference(name: str) -> Object:
    return Object(name, is_reference=True)


@pytest.mark.parametrize(
    ("metric", "labels", "shown"),
    [
        ("pod_info", POD, {Object("pod u"), NAMESPACE}),
        ("pod_info", POD | {"uid": ""}, {Object("pod ns/a"), NAMESPACE}),
        (
            "pod_info",
            POD | {"node": "n1"},
            {Object("pod u"), NAMESPACE, Object("node n1")},
        ),
        ("pod_info", {"namespace": "ns", "uid": "u", "node": "n1"}, set()),
        (
            "pod_owner",
            POD | {"owner_kind": "ReplicaSet", "owner_name": "web-1"},
            {Object("pod u"), NAMESPACE, reference("owner ReplicaSet ns/web-1")},
        ),
        (
            "pod_owner",
            POD | {"owner_kind": "Job", "owner_name": "train"},
            {Object("pod u"), NAMESPACE, reference("owner Job ns/train")},
        ),
        # only owners that kube-state shows as objects of their own
        (
            "pod_owner",
            POD | {"owner_kind": "StatefulSet", "owner_name": "db"},
            {Object("pod u"), NAMESPACE},
        ),
        (
            "pod_info",
            POD | {"owner_kind": "Job", "owner_name": "train"},
            {Object("pod u"), NAMESPACE},
        ),
        ("node_info", {"node": "n1"}, {Object("node n1")}),
        ("node_labels", {"node": ""}, set()),
        ("namespace_labels", {"namespace": "ns"}, {Object("namespace ns")}),
        (
            "replicaset_owner",
            {"namespace": "ns", "replicaset": "web-1", "owner_kind": "Deployment"},
            {Object("owner ReplicaSet ns/web-1")},
        ),
        (
            "job_owner",
            {"namespace": "ns", "job_name": "train"},
            {Object("owner Job ns/train")},
        ),
        ("deployment_labels", {"namespace": "ns", "deployment": "web"}, set()),
    ],
)
def test_a_series_shows_its_object_and_what_that_refers_to(
    metric: str, labels: dict[str, str], shown: set[Object]
) -> None:
    found = objects([Reading((kube("a", metric, 60, **labels),))], WHOLE, never)
    assert found == {Side("a"): dict.fromkeys(shown, 60_000)}


def test_an_object_has_its_first_sample_in_the_period() -> None:
    n1, n2 = {"node": "n1"}, {"node": "n2"}
    readings = [
        Reading(
            (
                kube("a", "node_info", 30, 180, **n1),
                kube("a", "node_labels", 0, 120, **n1),
                kube("a", "node_info", 0, 600, **n2),
                kube("b", "node_info", 60, **n2),
                series("node_load", ones(60), n2, ScraperIdentity("c")),
            )
        ),
        Reading((kube("a", "node_info", 90, **n2),), is_file=True),
    ]
    assert objects(readings, Interval(60_000, 600_000), is_file) == {
        Side("a"): {Object("node n1"): 120_000},
        Side("b"): {Object("node n2"): 60_000},
        Side("a", is_late=True): {Object("node n2"): 90_000},
    }


# --- which samples count -------------------------------------------------------------


def kept(*found: Series, **roles: tuple[RoleInterval, ...]) -> dict[str, list[int]]:
    """The seconds of samples that count, by job."""
    (reading,) = counting([Reading(found)], roles)
    return {one.scraper.job: (one.times_ms // 1000).tolist() for one in reading.series}


def test_samples_of_other_jobs_do_not_count() -> None:
    found = (
        kube("a", "pod_info", 0, 60),
        kube("b", "pod_info", 0, 60),
        kube("unknown", "pod_info", 0),
        series("up", ones(0), {}, ScraperIdentity("c")),
    )
    roles = {"a": (during(LEADS),), "b": (during(OTHER),)}
    assert kept(*found, **roles) == {"a": [0, 60], "c": [0]}


def test_samples_count_from_the_start_of_a_role_to_its_end() -> None:
    found = kube("a", "pod_info", 0, 60, 120, 180, 240, 300)
    stretches = (
        during(SHARD, 60, 120),
        during(OTHER, 120, 240),
        during(TOOK, 240, 300),
        during(OTHER, 300),
    )
    assert kept(found, a=stretches) == {"a": [60, 240]}


def test_a_series_that_counts_in_part_keeps_its_values() -> None:
    samples = {0: 1.0, 60: 2.0, 120: 3.0}
    found = series(REQUESTS, samples, POD, ScraperIdentity("a"))
    given = Reading((found,), is_partial=True, interval_ms=60_000)
    roles = {"a": (during(OTHER, 0, 60), during(SHARD, 60))}
    (reading,) = counting([given], roles)
    assert (reading.is_partial, reading.interval_ms) == (True, 60_000)
    (one,) = reading.series
    assert one.values.tolist() == [2.0, 3.0]
    assert (one.metric, one.labels, one.scraper.job) == (REQUESTS, POD, "a")


def test_all_samples_count_while_every_job_leads() -> None:
    given = [Reading((kube("a", "pod_info", 0), kube("unknown", "pod_info", 0)))]
    assert counting(given, {"a": (during(LEADS),), "b": (during(LEADS),)}) == given
    assert counting(given, {}) == given
    assert EVER == WHOLE
