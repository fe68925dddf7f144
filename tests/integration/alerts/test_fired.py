"""Each rule of alerts on a scripted fleet: fires once, when it should, with its money; resolves.

Not here: states (tests/unit/alerts), pages and thresholds (test_alert_pages.py).
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounting.access.models.people import OrganizationRole
from accounting.access.models.teams import Binding
from accounting.access.scope import EVERYTHING
from accounting.core.interval import to_ms
from accounting.core.money import Money
from accounting.health.reads.issues import UNMAPPED
from accounting.kit import failpoints
from accounting.kit.failpoints import FailpointError
from accounting.kit.locks import lock
from accounting.metering.models.cluster import Cluster, Gpu, Source
from accounting.metering.models.evidence import Scraper, ScrapeSpan
from accounting.metering.models.ledger import DataIssue
from accounting.metering.models.pod import PodHold, Workload
from accounting.prices.models.price import UnitPrice
from scheduler_view.alerts.actions import ArchiveAlert, archive_alert
from scheduler_view.alerts.models import Alert, AlertCheck, AlertThreshold
from scheduler_view.alerts.reads.alerts import alert_row
from scheduler_view.alerts.reads.causes.data import drift_past, issue_past, late_past
from scheduler_view.alerts.reads.causes.gpus import (
    LOST,
    MEMORY_ERRORS,
    growth_past,
    hot_past,
)
from scheduler_view.alerts.reads.causes.idle import idle_past
from scheduler_view.alerts.reads.causes.money import (
    budget_past,
    spend_past,
    waste_past,
)
from scheduler_view.alerts.reads.causes.waits import wait_past
from scheduler_view.alerts.reads.watches import WATCHES
from scheduler_view.alerts.rules.catalogue import LOCKS, RULES, AlertRule
from scheduler_view.alerts.rules.states import FigureUnit
from scheduler_view.alerts.tasks import look, look_for_alerts
from scheduler_view.clusters.models import WAITS, Drift, ObservationRun
from scheduler_view.idle.models import IdleAct, IdleNote
from scheduler_view.idle.tasks import find_idle
from scheduler_view.savings.tasks.compute import compute_due
from scheduler_view.waits.models import WaitRecord
from tests.integration.budgets.conftest import ledger as ledger  # noqa: PLC0414
from tests.integration.budgets.days import FIRST, NOW, DayLedger
from tests.integration.budgets.test_budgets import budget
from tests.integration.months.people import person
from tests.integration.savings.fleet import HOUR, MODEL, START, Fleet, make_fleet

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
UUID = "GPU-5a1e0001"


@pytest.fixture
def fleet() -> Fleet:
    """A cluster of one node whose data end at midnight, a day after it began."""
    return make_fleet(START + DAY)


def at_data_of(fleet: Fleet, end: datetime) -> datetime:
    """Data of the cluster end then, and its idle holds are found."""
    fleet.cluster.data_end_ms = to_ms(end)
    fleet.cluster.save()
    find_idle(fleet.cluster)
    return end


def alerts(rule: AlertRule, at: datetime) -> list[Alert]:
    """Look twice, a moment apart, and read what lasts."""
    look(rule, lambda: at)
    look(rule, lambda: at)
    return [*Alert.objects.filter(rule=rule, resolved_at=None).order_by("key")]


def the_alert(rule: AlertRule, at: datetime) -> Alert:
    [found] = alerts(rule, at)
    assert found.times == 1
    return found


def assert_resolved(rule: AlertRule, at: datetime, count: int = 1) -> None:
    """All of them are over by then; nothing is stored twice."""
    assert alerts(rule, at) == []
    ended = Alert.objects.filter(rule=rule)
    assert [one.resolved_at for one in ended] == [at] * count


def issue(fleet: Fleet, code: str, subject: str, **more: object) -> DataIssue:
    values = {
        "severity": "error",
        "message": "Found.",
        "first_seen": START + HOUR,
        "last_seen": START + 2 * HOUR,
    }
    return DataIssue.objects.create(
        cluster=fleet.cluster, code=code, subject=subject, **values | more
    )


# R1: idle


def test_an_idle_holder_fires_after_two_hours_with_its_cost(fleet: Fleet) -> None:
    pod = fleet.hold("pair", "b" * 12 + "i" * 24, "b" * 12 + "i" * 24, is_open=True)
    at = at_data_of(fleet, START + 3 * HOUR)
    alert = the_alert(AlertRule.IDLE, at)
    assert (alert.since, alert.fired_at) == (START + HOUR, START + 3 * HOUR)
    assert (alert.amount, alert.currency) == (Decimal("10.000000"), "USD")
    assert alert.per_hour == Decimal("5.000000")
    assert alert.what == "pair holds 2 H100 80 GB and is idle"
    assert alert.team == fleet.teams["vision"]
    fleet.write(pod, "b", "b", at=START + 3 * HOUR)
    assert_resolved(AlertRule.IDLE, at_data_of(fleet, START + 3 * HOUR + 5 * MINUTE))


def test_an_idle_holder_does_not_fire_a_window_earlier(fleet: Fleet) -> None:
    fleet.hold("one", "b" * 12 + "i" * 23, is_open=True)
    assert alerts(AlertRule.IDLE, at_data_of(fleet, START + 3 * HOUR)) == []


def test_unknown_time_never_fires_idle(fleet: Fleet) -> None:
    fleet.hold("dark", "u" * 36, is_open=True)
    fleet.hold("half", "b" * 12 + "i" * 20 + "uuuu", is_open=True)
    assert alerts(AlertRule.IDLE, at_data_of(fleet, START + 3 * HOUR)) == []


def test_unknown_time_moves_when_it_fires(fleet: Fleet) -> None:
    fleet.hold("one", "i" * 12 + "uuu" + "i" * 15, is_open=True)
    alert = the_alert(AlertRule.IDLE, at_data_of(fleet, START + 2.5 * HOUR))
    assert alert.fired_at == START + 2 * HOUR + 15 * MINUTE


def test_pods_of_a_workload_are_one_cause(fleet: Fleet) -> None:
    for rank in range(3):
        fleet.hold(f"rank-{rank}", "i" * 24, is_open=True, workload="gang")
    alert = the_alert(AlertRule.IDLE, at_data_of(fleet, START + 2 * HOUR))
    assert alert.amount == Decimal("15.000000")


def test_an_ignored_holder_is_no_alert(fleet: Fleet) -> None:
    pod = fleet.hold("one", "i" * 24, is_open=True)
    at = at_data_of(fleet, START + 2 * HOUR)
    assert alerts(AlertRule.IDLE, at)
    IdleNote.objects.create(
        cluster=fleet.cluster,
        team=fleet.teams["vision"],
        workload=pod.workload,
        act=IdleAct.IGNORED,
        since_ms=to_ms(START),
        text="Needed for a demo.",
        until=date(2027, 1, 1),
        by=person("ana"),
        at=timezone.now(),
    )
    assert_resolved(AlertRule.IDLE, at)


def test_a_silent_cluster_neither_fires_nor_resolves(fleet: Fleet) -> None:
    fleet.hold("one", "i" * 24, is_open=True)
    at_data_of(fleet, START + 2 * HOUR)
    assert the_alert(AlertRule.IDLE, START + 2 * HOUR)
    later = the_alert(AlertRule.IDLE, START + 12 * HOUR)
    assert later.amount == Decimal("5.000000")


def test_an_idle_holder_that_returns_is_the_same_row(fleet: Fleet) -> None:
    pod = fleet.hold("one", "i" * 24, is_open=True)
    first = the_alert(AlertRule.IDLE, at_data_of(fleet, START + 2 * HOUR))
    fleet.write(pod, "b", at=START + 2 * HOUR)
    assert_resolved(AlertRule.IDLE, at_data_of(fleet, START + 2 * HOUR + 5 * MINUTE))
    fleet.write(pod, "i" * 24, at=START + 2 * HOUR + 5 * MINUTE)
    end = START + 4 * HOUR + 5 * MINUTE
    [again] = alerts(AlertRule.IDLE, at_data_of(fleet, end))
    assert (again.pk, again.times, again.mark) == (first.pk, 2, "again")
    assert again.since == START + 2 * HOUR + 5 * MINUTE


def test_idle_time_of_the_past_is_counted_for_each_threshold(fleet: Fleet) -> None:
    fleet.hold("long", "b" * 12 + "i" * 48, workload="gang")
    fleet.hold("too", "b" * 12 + "i" * 48, workload="gang")
    fleet.hold("short", "b" * 12 + "i" * 14 + "b", team="search")
    compute_due(fleet.cluster)
    fired = sorted(idle_past((30, 60, 120, 480), START, START + DAY))
    vision, search = fleet.teams["vision"].pk, fleet.teams["search"].pk
    assert fired == sorted(
        [
            *((n, vision, START + HOUR + n * MINUTE) for n in (30, 60, 120)),
            *((n, search, START + HOUR + n * MINUTE) for n in (30, 60)),
        ]
    )


# Thresholds


def threshold(rule: AlertRule, value: int, at: datetime, **more: object) -> None:
    AlertThreshold.objects.update_or_create(
        rule=rule,
        team=more.pop("team", None),
        defaults={"value": value, "changed_at": at, **more},
    )


def test_another_threshold_while_it_fires_resolves_it_for_that_reason(
    fleet: Fleet,
) -> None:
    fleet.hold("one", "i" * 24, is_open=True)
    at = at_data_of(fleet, START + 2 * HOUR)
    assert alerts(AlertRule.IDLE, at)
    threshold(AlertRule.IDLE, 240, at + MINUTE)
    assert alerts(AlertRule.IDLE, at + 2 * MINUTE) == []
    assert Alert.objects.get().resolution == "threshold"
    threshold(AlertRule.IDLE, 30, at + 3 * MINUTE)
    [again] = alerts(AlertRule.IDLE, at + 4 * MINUTE)
    assert (again.mark, again.fired_at) == ("again", START + HOUR / 2)


def test_a_team_has_its_own_threshold(fleet: Fleet) -> None:
    fleet.hold("one", "i" * 12, is_open=True)
    fleet.hold("two", "i" * 12, is_open=True, team="search")
    at = at_data_of(fleet, START + HOUR)
    threshold(AlertRule.IDLE, 30, at, team=fleet.teams["search"])
    assert the_alert(AlertRule.IDLE, at).team == fleet.teams["search"]


def test_a_rule_that_is_off_says_so(fleet: Fleet) -> None:
    fleet.hold("one", "i" * 24, is_open=True)
    at = at_data_of(fleet, START + 2 * HOUR)
    assert alerts(AlertRule.IDLE, at)
    threshold(AlertRule.IDLE, 120, at, is_on=False)
    assert alerts(AlertRule.IDLE, at) == []
    assert Alert.objects.get().resolution == "off"


# R2, R4: budgets and unusual days


def test_a_budget_fires_with_what_is_expected_over_it(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.read_to(NOW)
    made = budget(2500)
    alert = the_alert(AlertRule.BUDGET, NOW)
    assert alert.amount == Decimal("500.000000")  # 30 days of 100
    assert alert.currency == "EUR"
    assert alert.what == "Vision is expected to exceed its budget of November 2026"
    assert alert.about == "€3,000 expected, €2,500 budget"
    assert alert.place == [made.pk]
    assert alert.fired_at == NOW
    ledger.read_to(NOW + HOUR)
    assert the_alert(AlertRule.BUDGET, NOW + HOUR).fired_at == NOW
    ledger.team.slug = "vision"
    made.ended_on = date(2026, 11, 20)
    made.save()
    assert_resolved(AlertRule.BUDGET, NOW + MINUTE)


def test_a_budget_within_the_threshold_is_no_alert(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.read_to(NOW)
    budget(2950)
    threshold(AlertRule.BUDGET, 2, NOW)
    assert alerts(AlertRule.BUDGET, NOW) == []
    fired = [*budget_past((0, 2, 5), NOW - 30 * DAY, NOW)]
    assert [(one.threshold, one.team) for one in fired] == [(0, ledger.team.pk)]


def test_an_unusual_day_fires_with_what_it_costs_more(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.held(date(2026, 11, 19), 70, workload="sweep")
    ledger.read_to(NOW)
    alert = the_alert(AlertRule.SPEND, NOW)
    assert (alert.amount, alert.currency) == (Decimal("70.000000"), "EUR")
    assert alert.what == "Vision spent more than usual on 19 Nov"
    assert alert.about == "€170, €100 expected, mostly sweep"
    assert alert.since == datetime.fromisoformat("2026-11-19T00:00:00+01:00")
    [fired] = spend_past((50, 100), NOW - 30 * DAY, NOW)
    assert fired.threshold == 50
    threshold(AlertRule.SPEND, 100, NOW)
    assert_resolved(AlertRule.SPEND, NOW + MINUTE)


# R3: waits


def waiting(fleet: Fleet, name: str, since: datetime, **more: object) -> WaitRecord:
    values = {"kind": "Job", "stage": "scheduling", "cause": "capacity", "units": 8}
    return WaitRecord.objects.create(
        cluster=fleet.cluster,
        namespace="lab",
        name=name,
        waits_since=since,
        model=MODEL,
        **values | more,
    )


def observed(fleet: Fleet, at: datetime) -> datetime:
    ObservationRun.objects.update_or_create(
        cluster=fleet.cluster, kind=WAITS, defaults={"seen_at": at, "tried_at": at}
    )
    return at


def test_work_that_waits_fires_after_four_hours_of_observation(fleet: Fleet) -> None:
    Binding.objects.create(
        kind="namespace",
        glob="lab",
        team=fleet.teams["vision"],
        position=1,
        valid_from=START,
    )
    waits = [waiting(fleet, f"sweep-{n}", START) for n in range(3)]
    observed(fleet, START + 4 * HOUR - MINUTE)
    assert alerts(AlertRule.WAIT, START + 9 * HOUR) == []  # not seen since
    observed(fleet, START + 4 * HOUR)
    alert = the_alert(AlertRule.WAIT, START + 9 * HOUR)
    assert alert.fired_at == START + 4 * HOUR
    assert alert.what == "3 runs of sweep wait for 24 H100 80 GB"
    assert (alert.team, alert.amount) == (fleet.teams["vision"], None)
    assert alert.figure == 4 * 3_600_000
    assert alert.place == [waits[0].pk]
    [fired] = wait_past((240, 720), START, START + 9 * HOUR)
    assert (fired.threshold, fired.at) == (240, START + 4 * HOUR)
    WaitRecord.objects.update(stage="", ended_at=START + 9 * HOUR)
    assert_resolved(AlertRule.WAIT, START + 9 * HOUR + MINUTE)


# R5: waste


def test_waste_of_seven_days_fires_by_family(fleet: Fleet) -> None:
    fleet.hold("never", "i" * 12 * 24, "i" * 12 * 24)
    at_data_of(fleet, START + DAY)
    compute_due(fleet.cluster)
    at = START + DAY + 2 * HOUR
    alert = the_alert(AlertRule.WASTE, at)
    assert (alert.amount, alert.currency) == (Decimal("120.000000"), "USD")
    assert alert.what == "never of lab wastes GPU time"
    assert alert.team == fleet.teams["vision"]
    fired = [*waste_past((50, 100, 250), START - 3 * DAY, at)]
    assert [one.threshold for one in fired] == [50, 100]
    assert_resolved(AlertRule.WASTE, at + 9 * DAY)


def test_the_page_of_a_waste_alert_sums_to_its_money(fleet: Fleet) -> None:
    """Also of days that are not the month, and of amounts that end in parts of a cent."""
    for team, windows in (
        ("vision", (281, 283, 286)),
        ("search", (277, 287)),
    ):
        for n, idle in enumerate(windows):
            fleet.hold(f"{team}-{'abc'[n]}", "i" * idle, team=team)
    at_data_of(fleet, START + DAY)
    compute_due(fleet.cluster)
    threshold(AlertRule.WASTE, 50, START)
    at = START + 3 * DAY
    found = alerts(AlertRule.WASTE, at)
    assert len(found) == 5
    client = Client()
    client.force_login(person("ana", OrganizationRole.ADMIN))
    for one in found:
        row = alert_row(EVERYTHING, one.pk)
        assert row is not None
        context = client.get(row.url).context
        assert context["report"].totals == (Money(row.amount or Decimal(0), "USD"),), (
            row.what
        )
        assert [line.row.family for line in context["lines"]] == [one.key.split("/")[3]]
        page = client.get(row.url).content.decode()
        assert 'href="/recommendations?team=' in page


# R6, R11: what GPUs measure


def measured(fleet: Fleet, gpu: Gpu, at: datetime, celsius: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO intensity_window (cluster_id, window_start, gpu_id, node_id,
               temperature_seen_us, temperature_peak_c) VALUES (%s, %s, %s, %s, 1, %s)""",
            [fleet.cluster.pk, at, gpu.pk, fleet.node.pk, celsius],
        )


def test_a_hot_gpu_fires_with_the_window_that_is_hot(fleet: Fleet) -> None:
    gpu = Gpu.objects.create(cluster=fleet.cluster, uuid=UUID, model=MODEL)
    other = Gpu.objects.create(cluster=fleet.cluster, uuid="GPU-cool", model=MODEL)
    for n, celsius in enumerate((90, 84, 85, 91)):
        measured(fleet, gpu, START + n * 5 * MINUTE, celsius)
        measured(fleet, other, START + n * 5 * MINUTE, 84)
    alert = the_alert(AlertRule.HOT, START + HOUR)
    assert alert.what == f"{UUID} reaches 91 °C"
    assert alert.since == alert.fired_at == START + 10 * MINUTE
    assert (alert.amount, alert.place) == (None, [UUID])
    measured(fleet, gpu, START + 20 * MINUTE, 70)
    measured(fleet, gpu, START + 25 * MINUTE, 86)
    again = the_alert(AlertRule.HOT, START + HOUR)
    assert (again.pk, again.since) == (alert.pk, START + 10 * MINUTE)  # it remembers
    for n in range(6, 9):
        measured(fleet, gpu, START + n * 5 * MINUTE, 70)
    assert_resolved(AlertRule.HOT, START + HOUR + MINUTE)


def test_hot_hours_in_a_row_are_one_cause_of_the_past(fleet: Fleet) -> None:
    with connection.cursor() as cursor:
        for n, celsius in enumerate((86, 92, 70, 85)):
            cursor.execute(
                """INSERT INTO intensity_gpu_hour (cluster_id, hour_start, billing_on, gpu_id,
                   node_id, temperature_seen_us, temperature_peak_c)
                   VALUES (%s, %s, %s, 1, 1, 1, %s)""",
                [fleet.cluster.pk, START + n * HOUR, START.date(), celsius],
            )
    fired = [*hot_past((80, 85, 90), START, START + DAY)]
    assert [(one.threshold, one.at) for one in fired] == [
        (80, START),
        (80, START + 3 * HOUR),
        (85, START),
        (85, START + 3 * HOUR),
        (90, START + HOUR),
    ]


def peaks(
    fleet: Fleet, name: str, *gigabytes: float, cluster: Cluster | None = None
) -> Workload:
    cluster = cluster or fleet.cluster
    work = Workload.objects.create(
        cluster=cluster, namespace=fleet.namespace, kind="Job", name=name
    )
    with connection.cursor() as cursor:
        for n, size in enumerate(gigabytes):
            cursor.execute(
                """INSERT INTO intensity_hour (cluster_id, hour_start, billing_on,
                   team_id, workload_id, memory_seen_us, memory_peak_bytes)
                   VALUES (%s, %s, %s, %s, %s, 1, %s)""",
                [
                    cluster.pk,
                    START + n * HOUR,
                    START.date(),
                    fleet.teams["vision"].pk,
                    work.pk,
                    int(size * 1024**3),
                ],
            )
    return work


def test_memory_that_only_grows_fires_after_six_hours(fleet: Fleet) -> None:
    peaks(fleet, "leak", 10, 20, 21, 22, 23, 24, 25)
    peaks(fleet, "steady", 20, 20, 20, 20, 20, 20, 20)
    peaks(fleet, "noise", 20, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6)  # less than a fifth
    alert = the_alert(AlertRule.GROWTH, START + 7 * HOUR)
    assert alert.what == "Memory of leak only grows"
    assert alert.about == "20.0 to 25.0 GiB in 6 h, lab on waste"
    assert (alert.since, alert.fired_at) == (START + HOUR, START + 7 * HOUR)
    assert alert.team == fleet.teams["vision"]
    fired = [*growth_past((4, 6, 12), START, START + 8 * HOUR)]
    assert [(one.threshold, one.at) for one in fired] == [
        (4, START + 4 * HOUR),
        (6, START + 6 * HOUR),
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE intensity_hour SET memory_peak_bytes = 1 WHERE hour_start = %s",
            [START + 6 * HOUR],
        )
    assert_resolved(AlertRule.GROWTH, START + 7 * HOUR + MINUTE)


def test_a_newer_hour_of_another_cluster_does_not_resolve_it(fleet: Fleet) -> None:
    peaks(fleet, "leak", 20, 21, 22, 23, 24, 25)
    alert = the_alert(AlertRule.GROWTH, START + 6 * HOUR)
    other = Cluster.objects.create(name="ahead", data_end_ms=0)
    peaks(fleet, "leak", *range(20, 30), cluster=other)
    late, ahead = alerts(AlertRule.GROWTH, START + 10 * HOUR)
    assert late.pk == alert.pk
    assert (ahead.since, ahead.fired_at) == (START + 4 * HOUR, START + 10 * HOUR)


@pytest.mark.parametrize("hours", [1, 3])
def test_memory_that_grows_on_fired_when_it_fired_first(
    fleet: Fleet, hours: int
) -> None:
    peaks(fleet, "leak", *range(20, 26 + hours))
    first = the_alert(AlertRule.GROWTH, START + 6 * HOUR)
    again = the_alert(AlertRule.GROWTH, START + (6 + hours) * HOUR)
    assert again.about == f"{20 + hours}.0 to {25 + hours}.0 GiB in 6 h, lab on waste"
    assert (again.since, again.fired_at) == (first.since, first.fired_at)


# R7 to R10: data and quotas


def test_a_namespace_without_a_team_fires_after_a_day(fleet: Fleet) -> None:
    found = issue(fleet, UNMAPPED, "scratch", severity="warning", at_stake_ms=3_600_000)
    fleet.cluster.data_end_ms = to_ms(START + 2 * HOUR)
    fleet.cluster.save()
    assert alerts(AlertRule.NAMESPACE, START + DAY) == []
    alert = the_alert(AlertRule.NAMESPACE, START + DAY + HOUR)
    assert alert.what == "Namespace scratch has no team"
    assert alert.fired_at == START + DAY + HOUR
    assert alert.query == {"namespace": "scratch"}
    found.resolved_at = START + DAY
    found.save()
    assert_resolved(AlertRule.NAMESPACE, START + DAY + 2 * HOUR)


def test_a_quota_that_differs_fires_after_an_hour(fleet: Fleet) -> None:
    drift = Drift.objects.create(
        cluster=fleet.cluster,
        kind="ResourceQuota",
        namespace="lab",
        name="gpu",
        state="differs",
        since=START,
        changes=[["requests.nvidia.com/gpu", "8", "12"]],
        basis="x",
    )
    assert alerts(AlertRule.DRIFT, START + 59 * MINUTE) == []
    alert = the_alert(AlertRule.DRIFT, START + HOUR)
    assert alert.what == "Quota of lab differs from waste: 8 here, 12 there"
    assert alert.fired_at == START + HOUR
    drift.changes = [["requests.nvidia.com/gpu", "8", "16"]]
    drift.save()
    assert the_alert(AlertRule.DRIFT, START + 2 * HOUR).pk == alert.pk
    drift.delete()
    assert_resolved(AlertRule.DRIFT, START + 3 * HOUR)
    fired = [*drift_past((0, 60, 360), START, START + DAY)]
    assert [one.threshold for one in fired] == [0, 60]


def test_a_cluster_without_new_data_fires_after_half_an_hour(fleet: Fleet) -> None:
    source = Source.objects.create(cluster=fleet.cluster, name="x", kind="scrape")
    pod = fleet.hold("one", "b" * 12, is_open=True)
    end = START + HOUR
    assert alerts(AlertRule.LATE, end + 29 * MINUTE) == []
    Source.objects.update(last_error="connection refused")
    alert = the_alert(AlertRule.LATE, end + 31 * MINUTE)
    assert (alert.since, alert.fired_at) == (end, end + 30 * MINUTE)
    assert (alert.what, alert.about) == ("No new data of waste", "connection refused")
    fleet.write(pod, "b" * 6, at=end)
    assert_resolved(AlertRule.LATE, end + 31 * MINUTE)
    source.kind = "openmetrics"
    source.save()
    assert alerts(AlertRule.LATE, end + DAY) == []  # files are not awaited


def test_a_clock_behind_the_data_is_not_late(fleet: Fleet) -> None:
    Source.objects.create(cluster=fleet.cluster, name="x", kind="scrape")
    fleet.hold("one", "b" * 12, is_open=True)
    assert alerts(AlertRule.LATE, START - DAY) == []


def test_gaps_of_the_past_are_counted(fleet: Fleet) -> None:
    scraper = Scraper.objects.create(cluster=fleet.cluster, job="ksm")
    for first, last in ((0, 60), (80, 120), (300, 1440)):
        ScrapeSpan.objects.create(
            scraper=scraper,
            first_ms=to_ms(START + first * MINUTE),
            last_ms=to_ms(START + last * MINUTE),
            step_ms=30_000,
        )
    fired = [*late_past((15, 60), START, START + DAY)]
    assert [(one.threshold, one.at) for one in fired] == [
        (15, START + 75 * MINUTE),
        (15, START + 135 * MINUTE),
        (60, START + 180 * MINUTE),
    ]


def test_faults_of_one_kind_are_one_cause(fleet: Fleet) -> None:
    for n in range(3):
        issue(fleet, "target_down", f"exporter-{n}", at_stake_ms=2_000_000)
    issue(fleet, "energy_reset", "x", severity="info", at_stake_ms=9_000_000)
    alert = the_alert(AlertRule.ISSUE, START + 3 * HOUR)
    assert alert.what == "Exporter unavailable (3) on waste"
    assert alert.amount is None
    assert alert.fired_at == START + HOUR
    fired = [*issue_past((0, 1, 10), START, START + DAY)]
    assert [one.threshold for one in fired] == [0, 1]
    DataIssue.objects.update(resolved_at=START + 3 * HOUR)
    assert_resolved(AlertRule.ISSUE, START + 4 * HOUR)


def test_a_fault_has_the_cost_of_data_health_in_the_billing_currency(
    fleet: Fleet,
) -> None:
    fleet.hold("one", "b" * 12)
    at_data_of(fleet, START + DAY)
    fleet.roll_up()
    issue(fleet, "target_down", "exporter-1", at_stake_ms=7_200_000)
    alert = the_alert(AlertRule.ISSUE, START + DAY)
    assert (alert.amount, alert.currency) == (Decimal("5.000000"), "USD")


def test_a_small_fault_is_no_alert(fleet: Fleet) -> None:
    issue(fleet, "target_down", "exporter-1", at_stake_ms=3_599_999)
    assert alerts(AlertRule.ISSUE, START + 3 * HOUR) == []


# R12 to R14: errors of GPUs


@pytest.mark.parametrize(
    ("rule", "code", "subject", "text"),
    [
        (AlertRule.ECC, "gpu_ecc", UUID, "uncorrected memory errors"),
        (AlertRule.ECC, "gpu_row_remap", UUID, "a row that cannot be remapped"),
        (AlertRule.ECC, "gpu_xid", f"{UUID} XID 48", "XID 48, a double-bit error"),
        (AlertRule.NVLINK, "gpu_xid", f"{UUID} XID 74", "XID 74, an NVLink error"),
        (
            AlertRule.XID,
            "gpu_xid",
            f"{UUID} XID 79",
            "XID 79: it has fallen off the bus",
        ),
    ],
)
def test_errors_of_gpus_fire_when_they_are_first_seen(
    fleet: Fleet, rule: AlertRule, code: str, subject: str, text: str
) -> None:
    Gpu.objects.create(cluster=fleet.cluster, uuid=UUID, model=MODEL)
    found = issue(fleet, code, subject)
    issue(fleet, "gpu_xid", f"{UUID} XID 13")  # the program's own fault
    alert = the_alert(rule, START + 3 * HOUR)
    assert alert.what == f"{UUID} reports {text}"
    assert (alert.since, alert.fired_at) == (START + HOUR, START + HOUR)
    assert (alert.place, alert.amount, alert.team) == ([UUID], None, None)
    for other in {AlertRule.ECC, AlertRule.NVLINK, AlertRule.XID} - {rule}:
        assert alerts(other, START + 3 * HOUR) == []
    found.resolved_at = START + 2 * DAY
    found.save()
    assert_resolved(rule, START + 2 * DAY)


def test_errors_of_one_gpu_are_one_cause(fleet: Fleet) -> None:
    issue(fleet, "gpu_ecc", UUID)
    issue(fleet, "gpu_xid", f"{UUID} XID 48", first_seen=START)
    alert = the_alert(AlertRule.ECC, START + 3 * HOUR)
    assert alert.since == START
    assert "double-bit error" in alert.what
    [fired] = MEMORY_ERRORS.past((0,), START, START + DAY)
    assert fired == (0, 0, START)
    assert [*LOST.past((0,), START, START + DAY)] == []


# All rules


def test_what_is_open_is_in_the_counts_of_the_past(fleet: Fleet) -> None:
    """Also what fired before the time that is counted, and work of which a part is bound."""
    Source.objects.create(cluster=fleet.cluster, name="x", kind="scrape")
    scraper = Scraper.objects.create(cluster=fleet.cluster, job="ksm")
    at_ms = to_ms(START)
    ScrapeSpan.objects.create(
        scraper=scraper, first_ms=at_ms - 1, last_ms=at_ms, step_ms=30_000
    )
    issue(fleet, UNMAPPED, "scratch", severity="warning", at_stake_ms=3_600_000)
    issue(fleet, "target_down", "exporter-1", at_stake_ms=7_200_000)
    issue(fleet, "gpu_ecc", UUID)
    waiting(fleet, "embed", START, bound_at=START - HOUR)
    Drift.objects.create(
        cluster=fleet.cluster,
        kind="ResourceQuota",
        namespace="lab",
        name="gpu",
        state="differs",
        since=START,
        changes=[["requests.nvidia.com/gpu", "8", "12"]],
        basis="x",
    )
    start = START + 3 * DAY
    for rule in ("wait", "namespace", "drift", "late", "issue", "ecc"):
        usual = RULES[AlertRule(rule)].usual
        found = [*WATCHES[AlertRule(rule)].past((usual,), start, start + 30 * DAY)]
        assert [(one.threshold, one.at) for one in found] == [(usual, start)], rule


def test_waste_that_was_open_before_is_in_the_counts_of_the_past(fleet: Fleet) -> None:
    fleet.hold("never", "i" * 12 * 24, "i" * 12 * 24)
    at_data_of(fleet, START + DAY)
    compute_due(fleet.cluster)
    start = START + 3 * DAY
    [fired] = waste_past((100,), start, start + 30 * DAY)
    assert fired.at == start
    [fired] = waste_past((100,), START - 29 * DAY, START + DAY)
    assert START < fired.at < START + DAY, "on the day whose findings reach it"


def test_an_archived_alert_that_has_a_price_now_comes_back_when_it_grows(
    fleet: Fleet,
) -> None:
    pod = fleet.hold("one", "i" * 24, is_open=True)
    [price] = UnitPrice.objects.all()
    price.delete()
    at = at_data_of(fleet, START + 2 * HOUR)
    alert = the_alert(AlertRule.IDLE, at)
    assert (alert.amount, alert.unit) == (None, FigureUnit.GPU_MS)
    archive = ArchiveAlert(reason="Known, the demo ends soon.")
    archive_alert(alert.pk, archive, person("ana", OrganizationRole.ADMIN))
    price.save(force_insert=True)
    fleet.write(pod, "i" * 12, at=at)
    at = at_data_of(fleet, at + HOUR)
    [alert] = alerts(AlertRule.IDLE, at)
    assert (alert.archived_figure, alert.unit) == (Decimal("7.500000"), "USD")
    fleet.write(pod, "i" * 18, at=at)
    [alert] = alerts(AlertRule.IDLE, at_data_of(fleet, at + 1.5 * HOUR))
    assert (alert.archived_figure, alert.mark) == (None, "worse")


def test_a_rule_that_fails_leaves_its_alerts_and_says_so(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.hold("one", "i" * 24, is_open=True)
    alert = the_alert(AlertRule.IDLE, at_data_of(fleet, START + 2 * HOUR))
    monkeypatch.setattr(failpoints, "_ARMED", "alerts_stored:raise")
    PodHold.objects.update(ended_ms=to_ms(START + 2 * HOUR))
    find_idle(fleet.cluster)
    with pytest.raises(FailpointError):
        look(AlertRule.IDLE, lambda: START + 2 * HOUR)
    alert.refresh_from_db()
    assert alert.resolved_at is None
    assert look_for_alerts() == {}
    errors = set(AlertCheck.objects.values_list("error", flat=True))
    assert {one.partition(":")[0] for one in errors} == {"FailpointError"}


def test_all_rules_of_an_empty_ledger_find_nothing(db: None) -> None:
    del db
    counts = look_for_alerts()
    assert set(counts.values()) == {0}
    assert AlertCheck.objects.exclude(past={}).count() == 0
    hot = AlertCheck.objects.get(rule=AlertRule.HOT)
    assert hot.is_seen is False


def test_two_workers_store_a_cause_once(fleet: Fleet) -> None:
    """While one has the lock of a rule, another does nothing; the next look is the same."""
    fleet.hold("one", "i" * 24, is_open=True)
    at = at_data_of(fleet, START + 2 * HOUR)
    with transaction.atomic():
        lock("alerts", LOCKS[AlertRule.IDLE])
        assert ThreadPoolExecutor(1).submit(_elsewhere, at).result() is None
    assert the_alert(AlertRule.IDLE, at)


def _elsewhere(at: datetime) -> int | None:
    """What another worker finds: nothing, as it does not look."""
    try:
        return look(AlertRule.IDLE, lambda: at)
    finally:
        connection.close()
