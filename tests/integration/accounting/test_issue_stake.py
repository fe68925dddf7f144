"""What is at stake in an issue: adds up over time, and counts no time twice."""

import pytest

from accounting.actions.issues import record
from accounting.domain.issue import Issue
from accounting.models import Cluster, DataIssue
from tests.builders import HOUR_ZERO

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> int:
    return Cluster.objects.create(name="north").pk


def tell(cluster: int, first_s: int, last_s: int, stake_s: int, code: str) -> int:
    """What is at stake, in seconds, once this was found as well."""
    issue = Issue(
        code=code,
        subject="GPU-1",
        message="A fault.",
        first_ms=(HOUR_ZERO + first_s) * 1000,
        last_ms=(HOUR_ZERO + last_s) * 1000,
        at_stake_ms=stake_s * 1000,
    )
    record(cluster, [issue])
    found = DataIssue.objects.get(cluster=cluster, code=code).at_stake_ms
    assert found % 1000 == 0
    return found // 1000


def test_windows_add_up_and_are_not_counted_twice(cluster: int) -> None:
    said = [
        ((0, 300, 200), 200),  # a window
        ((300, 600, 100), 300),  # the next
        ((300, 600, 100), 300),  # read again
        ((-600, -300, 50), 350),  # history, behind it
        ((-600, 600, 350), 350),  # all of it read again
        ((300, 900, 240), 470),  # half of it is new
        (
            (-900, 1200, 700),
            700,
        ),  # 600 s of 2,100 are new; together not less than it says
        ((0, 300, 900), 900),  # nor here
    ]
    for told, expected in said:
        assert tell(cluster, *told, code="duty_scale") == expected


def test_single_samples_add_up(cluster: int) -> None:
    for at, expected in ((0, 30), (0, 30), (60, 60), (-60, 90), (30, 90)):
        assert tell(cluster, at, at, 30, code="duty_out_of_range") == expected


def test_what_comes_as_a_total_stays_one(cluster: int) -> None:
    assert tell(cluster, 0, 3600, 500, code="unpriced_gpu") == 500
    assert tell(cluster, 0, 7200, 600, code="unpriced_gpu") == 600
    assert tell(cluster, 0, 90_000, 550, code="unpriced_gpu") == 600
