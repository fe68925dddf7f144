"""Issues of the jobs of kube-state that do not lead, with the GPU time at stake (rules.md N40).

Times of samples are in seconds.
"""

from collections.abc import Mapping

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.core.issue import Issue
from accounting.metering.rules.inventory.kube_state.job_samples import (
    ISSUES,
    codes_of,
    other_job_issues,
)
from accounting.metering.rules.inventory.kube_state.jobs import (
    JobRecord,
    JobRole,
    Roles,
    Run,
)
from accounting.metering.rules.samples.series import Reading, ScraperIdentity, Series
from tests.unit.metering.kube_jobs import REQUESTS, WHOLE, during, kube
from tests.unit.metering.kube_series import POD, ones, series

LEADS, SHARD, TOOK, OTHER = (
    JobRole.LEADS,
    JobRole.SHARD,
    JobRole.TOOK_OVER,
    JobRole.OTHER,
)


def test_roles_that_a_person_should_know_are_issues_of_their_time() -> None:
    roles = {
        "a": (during(LEADS),),
        "b": (during(SHARD, 0, 100), during(OTHER, 100)),
        "c": (during(OTHER, 0, 500), during(TOOK, 500)),
        "": (during(OTHER),),
    }
    ran = {"a": [Run(0, 900_000)], "": [Run(0, 0)]}

    def codes(b: list[Run], c: list[Run]) -> set[tuple[str, str]]:
        jobs = {job: JobRecord(runs) for job, runs in (ran | {"b": b, "c": c}).items()}
        return codes_of(roles, jobs)

    nameless = ("other_kube_state", "no job")
    shard, other = ("kube_state_shard", "b"), ("other_kube_state", "b")
    renamed = ("kube_state_renamed", "c")
    assert codes([Run(0, 99_999)], []) == {nameless, shard}
    assert codes([Run(0, 100_000)], []) == {nameless, shard, other}
    assert codes([Run(100_000, 100_000)], [Run(500_000, 500_000)]) == {
        nameless,
        other,
        renamed,
    }
    several = [Run(0, 1000), Run(700_000, 800_000)]
    assert codes([], several) == {nameless, ("other_kube_state", "c"), renamed}
    assert codes_of({}, {"b": JobRecord([Run(0, 1)])}) == set()
    assert set(ISSUES) == {"kube_state_shard", "kube_state_renamed", "other_kube_state"}


def issues(
    *found: Series,
    roles: Roles,
    period: Interval = WHOLE,
    shared: Mapping[str, str] | None = None,
    added: Mapping[str, str] | None = None,
) -> list[Issue]:
    roles = {"ksm": (during(LEADS),), **roles}
    readings = [Reading(found)]
    return other_job_issues(readings, roles, period, shared or {}, added or {})


def asks(
    job: str, samples: Mapping[int, float], resource: str = "nvidia_com_gpu"
) -> Series:
    labels = POD | {"resource": resource}
    return series(REQUESTS, samples, labels, ScraperIdentity(job))


@pytest.mark.parametrize(
    ("role", "code", "severity", "message"),
    [
        (
            SHARD,
            "kube_state_shard",
            "warning",
            "It is used, because it reports only objects that ksm, ksm-2 does not report.",
        ),
        (
            TOOK,
            "kube_state_renamed",
            "warning",
            "It is used instead of ksm, ksm-2, which sent nothing for an hour.",
        ),
        (
            OTHER,
            "other_kube_state",
            "error",
            "Its samples are ignored. It reports node n1, which ksm, ksm-2 also reports.",
        ),
    ],
)
def test_an_issue_says_what_is_done_with_the_samples(
    role: JobRole, code: str, severity: str, message: str
) -> None:
    found = issues(
        kube("b", "node_info", 60, 120),
        kube("b", "pod_info", 90, 180),
        kube("ksm", "pod_info", 0, 600),
        series("up", ones(0, 900), {}, ScraperIdentity("b")),
        shared={"b": "node n1"},
        roles={"ksm-2": (during(LEADS),), "b": (during(role),)},
    )
    expected = Issue(code, "b", message, 60_000, 180_000, severity=severity)
    assert found == [expected]


def test_a_job_without_a_name_and_without_a_shared_object_is_told() -> None:
    (one,) = issues(kube("", "pod_info", 60), roles={"": (during(OTHER),)})
    assert (one.subject, one.message) == ("no job", "Its samples are ignored.")
    (shard,) = other_job_issues(
        [Reading((kube("b", "pod_info", 60),))],
        {"": (during(LEADS),), "b": (during(SHARD),)},
        WHOLE,
        {},
        {},
    )
    assert "only objects that no job does not report" in shard.message


def test_an_issue_is_of_the_samples_in_the_role_and_the_period() -> None:
    stretches = during(SHARD, 0, 120), during(OTHER, 120)
    found = kube("b", "pod_info", 0, 60, 120, 180, 240)
    times = [
        (one.code, one.first_ms // 1000, one.last_ms // 1000)
        for one in issues(
            found, period=Interval(60_000, 240_000), roles={"b": stretches}
        )
    ]
    assert times == [("kube_state_shard", 60, 60), ("other_kube_state", 120, 180)]
    assert (
        issues(found, period=Interval(241_000, 300_000), roles={"b": stretches}) == []
    )
    assert issues(kube("c", "pod_info", 60), roles={"b": stretches}) == []
    assert issues(kube("ksm", "pod_info", 60), roles={}) == []


@pytest.mark.parametrize(
    ("samples", "resource", "stake_s"),
    [
        # two GPUs from 0 to 120, and the step of a minute after the last sample
        ({0: 2, 60: 2, 120: 2}, "nvidia_com_gpu", 360),
        ({0: 1, 60: 3, 120: 2}, "nvidia_com_gpu", 540),
        # the median of the steps 60, 60 and 600
        ({0: 1, 60: 1, 120: 1, 720: 1}, "nvidia_com_gpu", 780),
        ({0: 1, 60: np.nan}, "nvidia_com_gpu", 120),
        ({0: np.nan, 60: np.nan}, "nvidia_com_gpu", 0),
        ({60: 4}, "nvidia_com_gpu", 0),  # one sample has no step
        ({0: 2, 60: 2}, "nvidia_com_mig_1g_5gb", 240),
        ({0: 2, 60: 2}, "example_com_npu", 240),  # an administrator added it
        ({0: 2, 60: 2}, "cpu", 0),
        ({0: 2, 60: 2}, "", 0),
    ],
)
def test_the_time_at_stake_is_what_its_pods_request(
    samples: dict[int, float], resource: str, stake_s: int
) -> None:
    (one,) = issues(
        asks("b", samples, resource),
        added={"example_com_npu": "example.com/npu"},
        roles={"b": (during(OTHER),)},
    )
    assert one.at_stake_ms == stake_s * 1000


def test_time_at_stake_adds_up_in_the_role_and_of_its_job_only() -> None:
    samples = dict.fromkeys(range(0, 600, 60), 1.0)
    series_of = asks("b", samples), asks("b", samples), asks("ksm", samples)
    limits = kube(
        "b", "pod_container_resource_limits", 0, 60, resource="nvidia_com_gpu"
    )
    stretches = during(OTHER, 0, 180), during(SHARD, 180, 300), during(OTHER, 300)
    found = {
        one.code: one.at_stake_ms // 1000
        for one in issues(
            *series_of, limits, period=Interval(60_000, 420_000), roles={"b": stretches}
        )
    }
    # samples at 60 and 120, and at 300 and 360: two minutes each, of two pods
    assert found == {"other_kube_state": 480, "kube_state_shard": 240}
