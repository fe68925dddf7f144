"""What blocks the close of a month, and what two people may override (money.md M27, M28)."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from accounting.access.models.people import OrganizationRole
from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster, Gpu, GpuPresence, Node
from accounting.metering.models.ledger import DirtyHour, IngestWindow
from accounting.metering.models.pod import Namespace
from accounting.metering.models.usage import UsageDay
from accounting.months.actions import periods
from accounting.months.actions.periods import CloseRefused, NotAllowed
from accounting.months.models.close import CloseOverride
from accounting.months.models.period import PeriodRevision
from accounting.months.rules.close_checks import CloseCheck, Level
from accounting.months.tasks.checks.of_close import run_checks
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

OCTOBER = date(2026, 10, 5)
LATER = datetime(2026, 11, 5, tzinfo=UTC)  # four days after October ended in Berlin
REASON = "the exporter was down"
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def october(days: Days) -> None:
    """An observed hour of vision and a free one, both priced."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, HOUR)
    days.use("", OCTOBER, HOUR, state="free")


def check(code: str, now: datetime = LATER, period: str = "2026-10") -> CloseCheck:
    [found] = [one for one in run_checks(period, now) if one.code == code]
    return found


def blocked(now: datetime = LATER, period: str = "2026-10") -> list[str]:
    return [one.code for one in run_checks(period, now) if one.level is Level.BLOCK]


def warned() -> list[str]:
    found = run_checks("2026-10", LATER)
    return [one.code for one in found if one.level is Level.WARNING]


def cluster() -> Cluster:
    return Cluster.objects.get(name="north")


def window(at: datetime, state: str = "done", rows: int = 0) -> IngestWindow:
    return IngestWindow.objects.create(
        cluster=cluster(), window_start=at, state=state, rows=rows
    )


def test_a_complete_month_is_closed_with_its_checks() -> None:
    assert blocked() == []
    closed = periods.close("2026-10", person("anna"), now=LATER)
    assert closed.is_closed
    assert closed.closed_by == person("anna")
    assert [one["level"] for one in closed.checks] == ["passed"] * len(closed.checks)


def test_a_month_that_has_not_ended_is_not_closed() -> None:
    now = datetime(2026, 10, 31, 22, tzinfo=UTC)  # an hour before the end in Berlin
    assert check("over", now).value == 1
    with pytest.raises(CloseRefused, match="the period ends in 1 hour") as refused:
        periods.close("2026-10", person("anna"), now=now)
    assert [one.code for one in refused.value.checks if one.is_blocking] == [
        "over",
        "settled",
    ]
    assert not PeriodRevision.objects.exists()
    message = check("over", now - timedelta(days=6, hours=7, minutes=48)).message
    assert message == "the period ends in 6 days 8 hours"


def test_a_month_settles_for_72_hours() -> None:
    end = datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert blocked(end + timedelta(hours=72)) == []
    assert blocked(end + timedelta(hours=71, minutes=59)) == ["settled"]


def test_months_before_it_come_first() -> None:
    periods.close("2026-10", person("anna"), now=LATER)
    late = datetime(2027, 2, 1, tzinfo=UTC)
    order = check("order", late, "2026-12")
    assert (order.level, order.message) == (Level.BLOCK, "close 2026-11 first")
    with pytest.raises(CloseRefused, match="close 2026-11 first"):
        periods.close("2026-12", person("anna"), now=late)
    assert check("order", late).level is Level.PASSED  # the closed month


def pending() -> None:
    window(datetime(2026, 10, 31, 22, 55, tzinfo=UTC), "pending")


def dirty() -> None:
    at = datetime(2026, 10, 31, 22, tzinfo=UTC)
    DirtyHour.objects.create(cluster=cluster(), hour_start=at, reason="facts")


def unobserved() -> None:
    UsageDay.objects.filter(namespace_id__gt=0).update(
        busy_ms=HOUR - 36_001, unknown_ms=36_001
    )


def without_own_price() -> None:
    UsageDay.objects.filter(namespace_id__gt=0).update(gpu_rate=None, gpu_price_id=0)


def other_currency() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounting_unitprice SET currency = 'USD'")


def unmapped() -> None:
    space = Namespace.objects.get(name="ml")
    UsageDay.objects.create(
        cluster_id=cluster().pk,
        billing_on=OCTOBER,
        namespace_id=space.pk,
        team_id=0,
        model=H100,
        lifecycle="on-demand",
        busy_ms=36_364,
        price_id=UsageDay.objects.first().price_id,  # type: ignore[union-attr]  # there is one
        gpu_price_id=UsageDay.objects.first().price_id,  # type: ignore[union-attr]  # same
        rate=Decimal(1),
        gpu_rate=Decimal(1),
        currency="EUR",
    )


FAULTS: tuple[tuple[Callable[[], None], str, bool], ...] = (
    (pending, "windows", True),
    (dirty, "hours", False),
    (unobserved, "coverage", True),
    (without_own_price, "unpriced", True),
    (other_currency, "unconverted", True),
    (unmapped, "unmapped", True),
)


@pytest.mark.parametrize(("fault", "code", "is_overridable"), FAULTS)
def test_each_fault_blocks_and_some_may_be_overridden(
    fault: Callable[[], None], code: str, is_overridable: bool
) -> None:
    assert check(code).level is Level.PASSED
    fault()
    assert blocked() == [code]
    assert check(code).link.startswith("/") or code in ("over", "settled")
    with pytest.raises(CloseRefused, match=f"{code}: "):
        periods.close("2026-10", person("anna"), now=LATER)
    if not is_overridable:
        with pytest.raises(PeriodError, match="cannot be overridden"):
            periods.request_override("2026-10", code, REASON, person("anna"), now=LATER)
        return
    overridden(code)
    closed = periods.close("2026-10", person("anna"), now=LATER)
    [kept] = [one for one in closed.checks if one["code"] == code]
    assert kept["override"]["reason"] == REASON
    assert kept["override"]["confirmed_by"] == "bert"


def overridden(code: str) -> CloseOverride:
    row = periods.request_override("2026-10", code, REASON, person("anna"), now=LATER)
    return periods.confirm_override(row.pk, person("bert"), now=LATER)


def test_up_to_one_percent_of_unmapped_charge_only_warns() -> None:
    unmapped()
    UsageDay.objects.filter(team_id=0, namespace_id__gt=0).update(busy_ms=36_363)
    assert blocked() == []
    assert warned() == ["unmapped_any"]


def test_a_worse_value_asks_again() -> None:
    unobserved()
    overridden("coverage")
    assert check("coverage").is_overridden
    UsageDay.objects.filter(namespace_id__gt=0).update(
        busy_ms=HOUR - 36_002, unknown_ms=36_002
    )
    assert check("coverage").is_blocking
    UsageDay.objects.filter(namespace_id__gt=0).update(
        busy_ms=HOUR - 36_001, unknown_ms=36_001
    )
    assert not check("coverage").is_blocking


def test_an_override_of_one_cluster_is_not_one_of_another() -> None:
    unobserved()
    overridden("coverage")
    south = Cluster.objects.create(name="south")
    UsageDay.objects.filter(namespace_id__gt=0).update(cluster_id=south.pk)
    assert check("coverage").is_blocking


def test_an_override_needs_another_person_within_24_hours() -> None:
    pending()
    anna, bert = person("anna"), person("bert")
    row = periods.request_override("2026-10", "windows", REASON, anna, now=LATER)
    assert check("windows").is_blocking
    assert check("windows").override is not None
    with pytest.raises(NotAllowed, match="another person"):
        periods.confirm_override(row.pk, anna, now=LATER)
    with pytest.raises(PeriodError, match="more than 24 hours ago"):
        periods.confirm_override(row.pk, bert, now=LATER + timedelta(hours=24))
    with pytest.raises(IntegrityError), transaction.atomic():
        CloseOverride.objects.update(confirmed_by=anna)
    periods.confirm_override(row.pk, bert, now=LATER + timedelta(hours=23))
    with pytest.raises(PeriodError, match="already confirmed"):
        periods.confirm_override(row.pk, bert, now=LATER)


@pytest.mark.parametrize("reason", ["too short", "x" * 201, "  spaces  \n"])
def test_a_reason_has_10_to_200_characters(reason: str) -> None:
    pending()
    with pytest.raises(PeriodError, match="10 to 200 characters"):
        periods.request_override("2026-10", "windows", reason, person("anna"))


def outsiders() -> list[User]:
    gone = person("gone")
    gone.is_active = False
    gone.save()
    return [person("lead", OrganizationRole.NONE), gone]


def test_others_may_do_none_of_it() -> None:
    for one in outsiders():
        for action in (
            lambda one=one: periods.close("2026-10", one, now=LATER),
            lambda one=one: periods.request_override("2026-10", "windows", REASON, one),
            lambda one=one: periods.confirm_override(1, one),
            lambda one=one: periods.request_reopening("2026-10", REASON, one),
            lambda one=one: periods.confirm_reopening(1, one),
            lambda one=one: periods.set_method("2027-05", "alloc-v1", one),
        ):
            with pytest.raises(NotAllowed):
                action()


def test_a_reopened_month_asks_for_its_overrides_again() -> None:
    pending()
    overridden("windows")
    anna, bert = person("anna"), person("bert")
    periods.close("2026-10", anna, now=LATER)
    row = periods.request_reopening("2026-10", REASON, anna, now=LATER)
    with pytest.raises(NotAllowed, match="another person"):
        periods.confirm_reopening(row.pk, anna, now=LATER)
    opened = periods.confirm_reopening(row.pk, bert, now=LATER)
    assert (opened.reopened_by, opened.reopen_confirmed_by) == (anna, bert)
    with pytest.raises(CloseRefused, match="windows"):
        periods.close("2026-10", anna, now=LATER)
    overridden("windows")
    assert periods.close("2026-10", anna, now=LATER).revision == 2


def test_a_live_cluster_that_is_behind_blocks() -> None:
    window(datetime(2026, 10, 31, 20, tzinfo=UTC))
    assert blocked() == []
    cluster().sources.create(name="prometheus", kind="prometheus")
    assert check("windows").value == 35  # from 20:05 to 23:00 UTC
    now = datetime(2026, 10, 31, 20, 22, tzinfo=UTC)
    assert check("windows", now).value == 3  # not those that have not ended
    assert check("settled", now).message.startswith("the period is not over")
    cluster().sources.update(is_active=False)
    assert blocked() == []


@pytest.fixture
def present() -> None:
    """A GPU that was there on the 5th for the two hours of the rollup, and another day."""
    node = Node.objects.create(cluster=cluster(), name="n1")
    gpu = Gpu.objects.create(cluster=cluster(), uuid="GPU-1", model=H100)
    start = to_ms(datetime(2026, 10, 5, 8, tzinfo=UTC))
    GpuPresence.objects.create(
        gpu=gpu, node=node, start_ms=start, end_ms=start + 2 * HOUR
    )
    first = datetime(2026, 10, 4, 22, tzinfo=UTC)
    for number in range(288):
        window(first + timedelta(minutes=5 * number), rows=1)
    window(datetime(2026, 11, 1, tzinfo=UTC), rows=1)


@pytest.mark.usefixtures("present")
def test_time_of_gpus_that_is_not_in_the_rollup_blocks() -> None:
    assert blocked() == []
    GpuPresence.objects.update(end_ms=GpuPresence.objects.get().start_ms + HOUR)
    assert blocked() == ["conservation"]
    assert check("conservation").message == (
        "time or money does not add up: north 2026-10-05 (time)"
    )
    with pytest.raises(PeriodError, match="cannot be overridden"):
        periods.request_override("2026-10", "conservation", REASON, person("anna"))


def test_money_that_is_not_in_the_lines_blocks() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE wrong (LIKE running_line) ON COMMIT DROP"
        )
        book_running("2026-10")
        cursor.execute("INSERT INTO wrong SELECT * FROM running_line")
        codes = [
            c.code for c in run_checks("2026-10", LATER, lines="wrong") if c.causes
        ]
        assert codes == []
        cursor.execute("UPDATE wrong SET raw = raw + 1 WHERE kind = 'usage'")
        codes = [
            c.code for c in run_checks("2026-10", LATER, lines="wrong") if c.causes
        ]
    assert codes == ["conservation"]


def test_warnings_do_not_block(days: Days) -> None:
    days.use("", date(2026, 10, 6), 80_000, state="dark")
    UsageDay.objects.filter(namespace_id__gt=0).update(estimated_ms=HOUR // 2)
    days.use("search", OCTOBER, 360_000, state="idle", workload="serve")
    days.use("search", OCTOBER, 20_000, state="unknown", workload="other")
    assert warned() == ["team_coverage", "dark", "estimated"]
    assert periods.close("2026-10", person("anna"), now=LATER).is_closed


def test_a_total_that_moved_by_more_than_30_percent_warns(days: Days) -> None:
    periods.close("2026-10", person("anna"), now=LATER)
    days.use("vision", date(2026, 11, 5), 2 * HOUR + HOUR * 6 // 10)
    late = datetime(2026, 12, 5, tzinfo=UTC)
    book_running("2026-11")
    assert check("moved", late, "2026-11").level is Level.PASSED  # exactly 30 %
    days.use("vision", date(2026, 11, 5), HOUR, workload="more")
    closed = periods.close("2026-11", person("anna"), now=late)
    [moved] = [one for one in closed.checks if one["code"] == "moved"]
    assert (moved["level"], moved["value"]) == ("warning", "0.8")


def test_a_month_of_few_days_with_data_is_compared_by_day(days: Days) -> None:
    """October began on its 24th day: November was 191% more, at the same cost of a day."""
    for day in range(1, 11):
        days.use("vision", date(2026, 11, day), 2 * HOUR)
    book_running("2026-10")
    book_running("2026-11")
    late = datetime(2026, 12, 5, tzinfo=UTC)
    found = check("moved", late, "2026-11")
    assert found.level is Level.PASSED
    assert found.message == "the total of a day is within 30% of the month before"
    for day in range(1, 11):
        days.use("vision", date(2026, 11, day), HOUR, workload="more")
    book_running("2026-11")
    assert check("moved", late, "2026-11").message == (
        "the total of a day with data differs by 50.00% from October 2026 (1 of 31 days with "
        "data; this month: 10 of 30)"
    )


def test_a_method_is_chosen_before_the_month_begins() -> None:
    begins = datetime(2026, 10, 31, 23, tzinfo=UTC)
    anna = person("anna")
    with pytest.raises(PeriodError, match="2026-11 began on 2026-11-01"):
        periods.set_method("2026-11", "busy-v1+even", anna, now=begins)
    with pytest.raises(PeriodError, match="not a method"):
        periods.set_method("2026-11", "busy-v2", anna, now=begins)
    before = begins - timedelta(seconds=1)
    periods.set_method("2026-11", "busy-v1+even", anna, now=before)
    assert book_running("2026-11").method == "busy-v1+even"
    assert book_running("2026-12").method == "alloc-v1"
