"""How long facts, hours and days are kept, counted back from the newest window (rules.md N32).

Not here: what a report says of an expired range (`test_range.py`).
"""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from accounting.metering.models.cluster import Cluster, GpuGeometry
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.models.pod import PodHold
from accounting.metering.models.usage import UsageDay, UsageHour, UsageWindow
from accounting.metering.tasks.facts import retention
from tests.integration.prices.books import HOUR_MS, TEN, Books

DAY = timedelta(days=1)
SET_UP = """
billing: {currency: EUR, timezone: UTC}
teams: [{slug: vision, name: Vision}]
bindings: [{namespace: vision, team: vision}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "2"}]
"""


@pytest.fixture
def hold(books: Books) -> PodHold:
    """An hour of 6 October 2026, half of it busy, by a pod that ended."""
    books.configure(SET_UP)
    gpu, pod = books.gpu(), books.pod()
    half = TEN + timedelta(minutes=30)
    books.hours(gpu, TEN, half, pod)
    books.hours(gpu, half, TEN + timedelta(hours=1), pod, "idle")
    books.settle()
    bound_ms = int(TEN.timestamp() * 1000)
    return PodHold.objects.create(
        pod=pod,
        node_id=UsageWindow.objects.values_list("node_id", flat=True)[0],
        resource="nvidia.com/gpu",
        units=1,
        bound_ms=bound_ms,
        ended_ms=bound_ms + HOUR_MS,
        booked_until_ms=bound_ms + HOUR_MS,
        ended_by="Succeeded",
    )


def kept(newest: datetime) -> tuple[bool, bool, bool]:
    """Whether facts, hours and days of 6 October are left once a window is the newest one."""
    IngestWindow.objects.update_or_create(
        cluster=Cluster.objects.get(name="north"), defaults={"window_start": newest}
    )
    retention.enforce()
    return (
        UsageWindow.objects.exists(),
        UsageHour.objects.exists(),
        UsageDay.objects.exists(),
    )


def test_facts_are_kept_for_35_days_hours_for_13_months_and_days_for_good(
    hold: PodHold,
) -> None:
    assert kept(TEN + 35 * DAY) == (True, True, True)
    assert kept(TEN + 36 * DAY) == (False, True, True)  # a whole day is dropped at once
    assert kept(TEN + 397 * DAY) == (False, True, True)
    november = datetime(2026, 11, 1, tzinfo=UTC)  # and a whole month of hours
    assert kept(november + 396 * DAY) == (False, True, True)
    assert kept(november + 397 * DAY) == (False, False, True)


def test_one_setting_says_how_long_facts_are_kept(
    hold: PodHold, settings: Settings
) -> None:
    settings.FACT_DAYS = 90
    assert kept(TEN + 90 * DAY) == (True, True, True)
    assert kept(TEN + 91 * DAY) == (False, True, True)


def test_a_hold_keeps_its_milliseconds_when_its_facts_expire(hold: PodHold) -> None:
    kept(TEN + 35 * DAY - timedelta(hours=1))
    assert totals() == (None, None, None)  # its facts are younger than 35 days
    assert kept(TEN + 36 * DAY) == (False, True, True)
    assert totals() == (HOUR_MS // 2, HOUR_MS // 2, 0)


def totals() -> tuple[int | None, ...]:
    """What the only hold keeps: busy, idle and unknown milliseconds."""
    hold = PodHold.objects.get()
    return (hold.total_busy_ms, hold.total_idle_ms, hold.total_unknown_ms)


def test_holds_of_one_pod_at_once_keep_their_own_milliseconds(
    books: Books, hold: PodHold
) -> None:
    """A whole GPU, and an instance of each of two profiles."""
    gpu, pod = books.gpu("GPU-mig"), hold.pod
    instances = [[1, "1g.10gb"], [2, "2g.20gb"]]
    GpuGeometry.objects.create(gpu=gpu, from_ms=hold.bound_ms, instances=instances)
    books.write(gpu, TEN, pod, instance=1, busy=70)
    books.write(gpu, TEN, pod, instance=2, idle=500)
    books.settle()
    for _, profile in instances:
        PodHold.objects.create(
            pod=pod,
            node_id=hold.node_id,
            resource=f"nvidia.com/mig-{profile}",
            units=1,
            bound_ms=hold.bound_ms,
            ended_ms=hold.ended_ms,
            booked_until_ms=hold.booked_until_ms,
            ended_by="Succeeded",
        )
    kept(TEN + 36 * DAY)
    half = HOUR_MS // 2
    names = ("total_busy_ms", "total_idle_ms", "total_unknown_ms")
    assert list(PodHold.objects.order_by("pk").values_list(*names)) == [
        (half, half, 0),
        (70, 0, 0),
        (0, 500, 0),
    ]
