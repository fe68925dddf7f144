"""Idle holds found from facts: since when, what they cost, and when they are gone (S37)."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.core.interval import to_ms
from accounting.kit import failpoints
from accounting.kit.failpoints import FailpointError
from accounting.metering.models.pod import Pod, PodHold
from accounting.prices.models.price import UnitPrice
from scheduler_view.idle.models import IdleHold
from scheduler_view.idle.reads import IdleRow, idle_rows
from scheduler_view.idle.tasks import find_idle
from scheduler_view.savings.models import HeldDay
from scheduler_view.savings.tasks.compute import compute_due
from tests.integration.savings.fleet import HOUR, MODEL, START, Fleet, make_fleet

pytestmark = pytest.mark.django_db
END = START + 2 * HOUR


@pytest.fixture
def fleet() -> Fleet:
    """Data end two hours after the day began."""
    return make_fleet(END)


def until(fleet: Fleet, end: datetime) -> None:
    """Data of the cluster end then."""
    fleet.cluster.data_end_ms = to_ms(end)
    fleet.cluster.save()


def rows(fleet: Fleet) -> dict[str, IdleRow]:
    find_idle(fleet.cluster)
    return {row.name: row for row in idle_rows(EVERYTHING, at=END)}


def test_an_idle_hold_is_found_with_its_time_and_cost(fleet: Fleet) -> None:
    fleet.hold("pair", "b" * 12 + "i" * 12, "b" * 12 + "i" * 12, is_open=True)
    fleet.hold("works", "i" * 12 + "b" * 12, is_open=True)
    fleet.hold("ended", "i" * 24)
    found = rows(fleet)
    assert found.keys() == {"pair"}
    row = found["pair"]
    assert (row.since_ms, row.until_ms) == (to_ms(START + HOUR), to_ms(END))
    assert (row.gpus, row.gpu_ms) == (Decimal(2), 2 * 3_600_000)
    assert (row.amount, row.per_hour) == (Decimal("5.000000"), Decimal("5.000000"))
    assert (row.team, row.kind, row.model) == ("vision", "Job", MODEL)
    assert row.command == "kubectl -n lab delete job/pair"


def test_its_cost_is_the_idle_cost_of_the_ledger(fleet: Fleet) -> None:
    fleet.hold("slow", "b" * 12 + "gihmgiihgmig", is_open=True)
    fleet.roll_up()
    row = rows(fleet)["slow"]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT sum(idle_ms), sum(idle_ms * rate) / 3600000 FROM usage_hour
               WHERE hour_start >= %s AND namespace_id <> 0""",
            [START + HOUR],
        )
        idle_ms, money = cursor.fetchone()
    assert row.gpu_ms == idle_ms
    assert row.amount == round(money, 6)


@pytest.mark.parametrize(
    ("letters", "is_found"),
    [
        ("b" * 21 + "iii", True),  # a quarter of an hour
        ("b" * 22 + "ii", False),
        ("u" * 24, False),
        ("b" * 6 + "i" * 12 + "u" * 6, True),
        ("b" * 5 + "i" * 12 + "u" * 7, False),
        ("i" * 23 + "b", False),
        ("i" * 23 + "m", True),  # as the window before
        ("b" * 23 + "m", False),
    ],
)
def test_unknown_time_is_never_idle(
    fleet: Fleet, letters: str, *, is_found: bool
) -> None:
    fleet.hold("one", letters, is_open=True)
    assert ("one" in rows(fleet)) is is_found


def test_time_that_was_not_observed_costs_nothing(fleet: Fleet) -> None:
    fleet.hold("one", "b" * 6 + "i" * 6 + "u" * 6 + "i" * 6, is_open=True)
    assert rows(fleet)["one"].gpu_ms == 12 * 300_000


def test_unknown_time_does_not_make_it_idle_for_longer(fleet: Fleet) -> None:
    """Forty-five minutes since the first idle window, thirty of them observed."""
    fleet.hold("one", "b" * 15 + "iiiuuuiii", is_open=True)
    assert rows(fleet)["one"].idle_ms == 30 * 60_000
    assert idle_rows(EVERYTHING, least_minutes=30, at=END)
    assert not idle_rows(EVERYTHING, least_minutes=45, at=END)


def test_work_of_two_teams_is_a_holder_of_each(fleet: Fleet) -> None:
    fleet.hold("rank-0", "i" * 24, is_open=True, workload="gang")
    fleet.hold("rank-1", "i" * 24, is_open=True, workload="gang", team="search")
    find_idle(fleet.cluster)
    found = {row.team: row.amount for row in idle_rows(EVERYTHING, at=END)}
    assert found == {"vision": Decimal("5.000000"), "search": Decimal("5.000000")}


def test_a_long_idle_hold_is_found_from_what_is_kept() -> None:
    """Days whose facts have expired count, and the rest is read from facts."""
    end = START + 75 * HOUR
    fleet = make_fleet(end)
    fleet.hold("long", "b" * 12 + "i" * 12 * 74, is_open=True)
    fleet.roll_up()
    until(fleet, START + 74 * HOUR)
    compute_due(fleet.cluster)
    until(fleet, end)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_window WHERE window_start < %s", [END])
    row = rows(fleet)["long"]
    assert row.since_ms == to_ms(START + HOUR)
    assert row.gpu_ms == 74 * 3_600_000
    assert row.amount == Decimal("185.000000")
    assert HeldDay.objects.exists()


def test_a_row_stays_the_same_until_its_pod_works(fleet: Fleet) -> None:
    pod = fleet.hold("one", "i" * 24, is_open=True)
    first = rows(fleet)["one"]
    assert find_idle(fleet.cluster) is None, "no newer window"
    fleet.write(pod, "i", at=END)
    second = rows(fleet)["one"]
    assert (second.id, second.since_ms) == (first.id, first.since_ms)
    assert second.gpu_ms == first.gpu_ms + 300_000
    fleet.write(pod, "b", at=END + timedelta(minutes=5))
    assert not rows(fleet)


def test_a_hold_that_ended_goes(fleet: Fleet) -> None:
    fleet.hold("one", "i" * 24, is_open=True)
    assert rows(fleet)
    PodHold.objects.update(ended_ms=to_ms(END))
    fleet.hold("next", "b", at=END, is_open=True)
    assert not rows(fleet)


def test_pods_of_a_workload_are_one_holder(fleet: Fleet) -> None:
    for n in range(3):
        fleet.hold(f"rank-{n}", "i" * 24, is_open=True, workload="gang")
    fleet.hold("rank-3", "b" * 24, is_open=True, workload="gang")
    [row] = rows(fleet).values()
    assert (row.name, row.pods, row.gpus) == ("gang", 3, Decimal(3))
    assert row.amount == Decimal("15.000000")


def test_without_a_price_there_is_no_amount(fleet: Fleet) -> None:
    UnitPrice.objects.all().delete()
    fleet.hold("one", "i" * 24, is_open=True)
    row = rows(fleet)["one"]
    assert (row.amount, row.per_hour, row.currency) == (None, None, "")
    assert row.unpriced_ms == row.gpu_ms == 24 * 300_000


def test_the_owner_is_the_first_configured_label(fleet: Fleet) -> None:
    for n, label in enumerate(["example.com/owner", "owner"]):
        LabelSpelling.objects.create(
            purpose=LabelPurpose.OWNER, label=label, position=n
        )
    fleet.hold(
        "both",
        "i" * 24,
        is_open=True,
        labels={"label_owner": "ivo", "label_example_com_owner": "hana"},
    )
    fleet.hold("other", "i" * 24, is_open=True, labels={"label_owner": "<b>ivo"})
    fleet.hold("none", "i" * 24, is_open=True)
    found = rows(fleet)
    assert [found[name].owner for name in ("both", "other", "none")] == [
        "hana",
        "<b>ivo",
        "",
    ]


def test_a_killed_look_leaves_the_rows_of_before(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = fleet.hold("one", "i" * 24, is_open=True)
    before = rows(fleet)["one"]
    fleet.write(pod, "b", at=END)
    monkeypatch.setattr(failpoints, "_ARMED", "idle_finding:raise")
    with pytest.raises(FailpointError):
        find_idle(fleet.cluster)
    monkeypatch.undo()
    assert [row.id for row in idle_rows(EVERYTHING, at=END)] == [before.id]
    assert not rows(fleet)


def test_the_command_scales_what_would_be_started_again(fleet: Fleet) -> None:
    fleet.hold("notebook", "i" * 24, is_open=True, kind="StatefulSet")
    row = rows(fleet)["notebook"]
    assert row.command == "kubectl -n lab scale statefulset/notebook --replicas=0"


def test_a_pod_without_a_workload_is_a_holder(fleet: Fleet) -> None:
    fleet.hold("alone", "i" * 24, is_open=True)
    Pod.objects.update(workload=None)
    row = rows(fleet)["alone"]
    assert (row.kind, row.command) == ("", "kubectl -n lab delete pod/alone")
    assert IdleHold.objects.count() == 1


def test_holders_of_one_team_are_those_of_all_without_the_others(fleet: Fleet) -> None:
    """The card on a team's page reads no holder of another team."""
    fleet.hold("rank-0", "i" * 24, is_open=True, workload="gang")
    fleet.hold("rank-1", "i" * 24, is_open=True, workload="gang", team="search")
    fleet.hold("one", "i" * 24, is_open=True, team="search")
    find_idle(fleet.cluster)
    team = Team.objects.get(slug="search")
    every = idle_rows(EVERYTHING, at=END)
    with CaptureQueriesContext(connection) as asked:
        found = idle_rows(EVERYTHING, team=team.pk, at=END)
    assert found == [row for row in every if row.team_id == team.pk]
    assert {row.name for row in found} == {"gang", "one"}
    assert f'"team_id" = {team.pk}' in asked.captured_queries[0]["sql"]
