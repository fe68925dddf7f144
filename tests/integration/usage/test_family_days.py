"""Days by family are what the families of workloads make of days of usage (rules.md N41, I5)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection

from accounting.access.models.teams import Binding, Team
from accounting.kit.reads.invariant import Check
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Pod, Workload
from accounting.metering.tasks.evidence.workloads import resolve_pods
from accounting.months.reads.invariants.sum_checks import (
    FAMILY_CHECK,
    HOURS_CHECK,
    LINES_CHECK,
)
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.organization.actions.bindings import add_binding
from accounting.usage.tasks.family_days import move_families
from tests.integration.metering.support import run
from tests.integration.prices.books import HOUR_MS, TEN, Books
from tests.integration.usage.test_families import SET_UP, label

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SAME = (
    *("", "team", "namespace", "model", "lifecycle", "tier", "workload_type", "family"),
    *("cluster", "day", "team,day", "family,team,model"),
)


@pytest.fixture
def runs(books: Books) -> Books:
    """Two runs of one family, on two days and GPUs, partly idle; and free GPUs."""
    books.configure(SET_UP)
    for n, name in enumerate(["train-7xk2p", "train-9wz4c"]):
        gpu = books.gpu(f"GPU-{n}")
        for day in range(2):
            start = TEN + (n + day) * DAY
            books.hours(gpu, start, start + HOUR, books_pod(books, name))
            books.hours(gpu, start + HOUR, start + 2 * HOUR, state="free")
    books.settle()
    return books


def books_pod(books: Books, name: str) -> Pod:
    return Pod.objects.filter(name=name).first() or books.pod(name, space="a")


def execute(text: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return int(cursor.rowcount)


def families() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT family, sum(busy_ms)::bigint FROM usage_family_day
               WHERE namespace_id <> 0 GROUP BY family"""
        )
        return dict(cursor.fetchall())


def rows() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM usage_family_day ORDER BY billing_on, family, team_id"
        )
        return list(cursor.fetchall())


def violations(of: Check = FAMILY_CHECK) -> int:
    values = {"start": TEN - 30 * DAY, "end": TEN + 30 * DAY}
    with connection.cursor() as cursor:
        cursor.execute(of.query, values)
        return len(cursor.fetchall())


def booked_violations() -> list[int]:
    return [violations(LINES_CHECK), violations(HOURS_CHECK)]


def late_fact(books: Books) -> None:
    gpu = books.gpu("GPU-late")
    books.hours(gpu, TEN, TEN + HOUR, Pod.objects.get(name="train-7xk2p"))
    books.settle()


def other_team(books: Books) -> None:
    Binding.objects.update(position=10)
    add_binding(
        kind="namespace",
        label="",
        glob="a*",
        team=Team.objects.get(slug="b"),
        valid_from=TEN + DAY,
        position=0,
        actor="tests",
        reason="It moved.",
    )
    books.settle()


CHANGES: dict[str, Callable[[Books], object]] = {
    "late samples": late_fact,
    "another team": other_team,
    "a day that is gone": lambda _: execute(
        "DELETE FROM usage_day WHERE billing_on = '2026-10-07'"
    ),
    "rows of one team that are gone": lambda _: execute(
        "DELETE FROM usage_day WHERE team_id <> 0"
    ),
    "time that changes": lambda _: execute(
        "UPDATE usage_day SET idle_ms = idle_ms + 1"
    ),
    "rows of another day": lambda _: execute(
        "UPDATE usage_day SET billing_on = billing_on + 3"
    ),
    "rows of workloads that are not known": lambda _: execute(
        "UPDATE usage_day SET workload_id = workload_id + 9999 WHERE workload_id <> 0"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_days_by_family_follow_every_change_of_days(runs: Books, change: str) -> None:
    before = rows()
    assert violations() == 0
    CHANGES[change](runs)
    assert violations() == 0
    assert rows() != before


@pytest.mark.parametrize("by", SAME)
def test_reports_say_the_same_from_either_table(runs: Books, by: str) -> None:
    """With a filter by workload, that all rows fit, a report reads days by workload."""
    late_fact(runs)
    names = sorted(Workload.objects.values_list("name", flat=True))
    filters = [f"--workload={name}" for name in names]
    wide = run("report", "usage", "--format=csv", f"--by={by}")
    assert wide == run("report", "usage", "--format=csv", f"--by={by}", *filters)
    assert wide.count("\n") > 1


@pytest.fixture
def closed(runs: Books) -> Books:
    """October is closed, and a fact of it came later: November has a correction."""
    close_period("2026-10")
    late_fact(runs)
    book_running("2026-11")
    return runs


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("amounts", ["booked", "corrected"])
@pytest.mark.parametrize("by", SAME)
def test_closed_days_say_the_same_from_either_table(by: str, amounts: str) -> None:
    names = sorted(Workload.objects.values_list("name", flat=True))
    filters = [f"--workload={name}" for name in names]
    ask = ("report", "usage", "--format=csv", f"--as={amounts}")
    for more in ([], ["--from=2026-10-05T23:00:00Z", "--to=2026-11-02T02:00:00Z"]):
        wide = run(*ask, f"--by={by}", *more)
        assert wide == run(*ask, f"--by={by}", *more, *filters)
        assert "EUR" in wide


def test_booked_lines_by_family_follow_labels(closed: Books) -> None:
    assert booked_violations() == [0, 0]
    before = run("report", "usage", "--by=family", "--format=csv")
    label("train-7xk2p", "other")
    move_families(Cluster.objects.get().pk)
    assert booked_violations() == [0, 0]
    assert run("report", "usage", "--by=family", "--format=csv") != before


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (LINES_CHECK, "UPDATE charge_family_day SET charge = charge + 1"),
        (LINES_CHECK, "UPDATE charge_family_day SET family = family || 's'"),
        (LINES_CHECK, "DELETE FROM charge_family_day"),
        (HOURS_CHECK, "UPDATE charge_family_hours SET sums[1] = sums[1] + 0.000001"),
        (
            HOURS_CHECK,
            "UPDATE charge_family_hours SET hours[1] = hours[1] - '1 h'::interval",
        ),
        (HOURS_CHECK, "UPDATE charge_family_hours SET family = family || 's'"),
        (HOURS_CHECK, "UPDATE charge_family_hours SET is_priced = NOT is_priced"),
        (
            HOURS_CHECK,
            "INSERT INTO charge_family_hours SELECT * FROM charge_family_hours",
        ),
        (HOURS_CHECK, "DELETE FROM charge_family_hours"),
    ],
)
def test_verify_finds_other_sums_by_family(check: Check, wrong: str) -> None:
    assert execute(wrong) > 0
    assert violations(check) > 0


def test_booked_lines_follow_a_workload_that_has_no_time_any_more(
    closed: Books,
) -> None:
    """The owner of its pod became known since the close, and its days are those of the owner."""
    label("train-7xk2p", "named")
    closed.settle()
    pod = Pod.objects.get(name="train-7xk2p")
    pod.record |= {"owner_kind": "CronJob", "owner_name": "nightly", "labels": []}
    pod.save()
    resolve_pods(pod.cluster, [pod.pk])
    for at in (TEN, TEN + DAY):
        DirtyHour.objects.create(
            cluster=pod.cluster, hour_start=at, marked_at=TEN, reason="facts"
        )
    closed.settle()
    assert families() == {"train": 2 * HOUR_MS, "nightly": 3 * HOUR_MS}
    assert (violations(), *booked_violations()) == (0, 0, 0)
    resolve_pods(pod.cluster)  # all, so that labels of no pod count any more
    closed.settle()
    assert Workload.objects.get(name="train-7xk2p").family == "train"
    assert (violations(), *booked_violations()) == (0, 0, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE usage_family_day SET busy_ms = busy_ms + 1 WHERE busy_ms > 0",
        "DELETE FROM usage_family_day WHERE billing_on = '2026-10-07'",
        "UPDATE usage_family_day SET family = 'other' WHERE family = 'train'",
        "UPDATE usage_family_day SET rate = rate + 1",
        "UPDATE accounting_workload SET family = 'other'",
        """INSERT INTO usage_family_day (cluster_id, billing_on, family, busy_ms)
           SELECT id, '2026-10-20', 'other', 1 FROM accounting_cluster""",
    ],
)
def test_days_by_family_that_differ_are_found(runs: Books, wrong: str) -> None:
    assert violations() == 0
    assert execute(wrong) > 0
    assert violations() > 0


def test_a_label_moves_the_days_of_its_workload(runs: Books) -> None:
    hour = 3_600_000
    assert families() == {"train": 4 * hour}
    label("train-7xk2p", "other")
    work = Workload.objects.get(name="train-7xk2p")
    assert (work.family, work.next_family) == ("train", "other")
    assert families() == {"train": 4 * hour}
    assert violations() == 0
    assert move_families(Cluster.objects.get().pk) == 1
    assert families() == {"train": 2 * hour, "other": 2 * hour}
    assert violations() == 0
    label("train-7xk2p", "other", "train")
    label("train-7xk2p", "other", "train", "other")
    assert Workload.objects.get(name="train-7xk2p").next_family == ""
    assert move_families(Cluster.objects.get().pk) == 0


def test_a_workload_that_is_new_has_its_label_at_once(books: Books) -> None:
    """No days are to be moved for each run of a family that a label names."""
    books.configure(SET_UP)
    pod = books.pod("train-7xk2p", space="a")
    Workload.objects.update(family="")
    label(pod.name, "named")
    work = Workload.objects.get(name="train-7xk2p")
    assert (work.family, work.next_family) == ("named", "")


def test_days_of_one_namespace_are_moved_and_no_others(runs: Books) -> None:
    books_pod(runs, "train-7xk2p")
    other = runs.pod("train-bcdfg", space="b")
    runs.hours(runs.gpu("GPU-b"), TEN, TEN + HOUR, other)
    runs.settle()
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE usage_family_day SET samples_used = samples_used + 7
               WHERE namespace_id = %s""",
            [other.namespace_id],
        )
    label("train-7xk2p", "other")
    move_families(Cluster.objects.get().pk)
    assert violations() == 1, "the rows of the other namespace were not written again"
