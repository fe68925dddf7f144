"""Team, tier, lifecycle and price are those at a window's start (rules.md N24); changes of them
re-roll hours and never touch facts."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection

from accounting.access.models.teams import Binding, Team
from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Node, NodeFact
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.models.pod import Namespace, NamespaceLabels, Pod
from accounting.metering.tasks.evidence.workloads import BEGINNING, resolve_pods
from accounting.organization.actions.bindings import add_binding, end_binding
from accounting.prices.actions.prices import set_unit_price
from tests.integration.metering.support import report
from tests.integration.prices.books import HOUR_MS, TEN, WINDOW_MS, Books, stored

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
SET_UP = """
billing: {currency: EUR, timezone: UTC}
teams: [{slug: vision, name: Vision}, {slug: audio, name: Audio}]
bindings: [{namespace: vision, team: vision}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "2"}]
"""


@pytest.fixture
def hour(books: Books) -> Books:
    """One GPU, held from 10:00 to 12:00 by a pod in namespace vision."""
    books.configure(SET_UP)
    books.hours(books.gpu(), TEN, TEN + 2 * HOUR, books.pod())
    books.settle()
    return books


def windows_of(name: str = "team") -> dict[str, int]:
    """Whole windows by a dimension."""
    rows = report("usage", by=name)
    assert all(row["allocated_ms"] % WINDOW_MS == 0 for row in rows)
    return {row[name]: row["allocated_ms"] // WINDOW_MS for row in rows}


def rule_from(start: datetime, *, team: str = "audio", glob: str = "vis*") -> Binding:
    """A rule that comes before all others."""
    Binding.objects.update(position=10)
    return add_binding(
        kind="namespace",
        label="",
        glob=glob,
        team=Team.objects.get(slug=team),
        valid_from=start,
        position=0,
        actor="tests",
        reason="It moved.",
    )


@pytest.mark.parametrize(
    ("minutes", "before"),
    [(0, 0), (5, 1), (30, 6), (32, 7), (34.99, 7), (35, 7), (35.001, 8), (120, 24)],
)
def test_a_window_belongs_to_the_team_at_its_start(
    hour: Books, minutes: float, before: int
) -> None:
    rule_from(TEN + minutes * MINUTE)
    hour.settle()
    expected = {"vision": before, "audio": 24 - before}
    assert windows_of() == {team: n for team, n in expected.items() if n}


def test_a_rule_that_ends_gives_back_from_its_end(hour: Books) -> None:
    rule = rule_from(TEN - 30 * HOUR)
    end_binding(rule, valid_to=TEN + HOUR, actor="tests", reason="It moved back.")
    hour.settle()
    assert windows_of() == {"vision": 12, "audio": 12}


def test_the_first_rule_that_matches_wins(hour: Books) -> None:
    one, other = "{namespace: '*', team: audio}", "{namespace: vision, team: vision}"
    for first, second, team in ((one, other, "audio"), (other, one, "vision")):
        hour.configure(SET_UP.replace(other, f"{first}, {second}"))
        assert windows_of() == {team: 24}


def test_a_namespaces_label_counts_from_the_sample_that_shows_it(hour: Books) -> None:
    hour.configure(
        SET_UP.replace(
            "{namespace: vision,", "{namespace_label: example.com/team, glob: v*,"
        )
    )
    assert windows_of() == {"unmapped": 24}
    space = Namespace.objects.get(name="vision")
    for at, team in ((TEN - HOUR, "video"), (TEN + 32 * MINUTE, "sound")):
        NamespaceLabels.objects.create(
            namespace=space, valid_from=at, labels={"label_example_com_team": team}
        )
    pod = Pod.objects.get()
    assert resolve_pods(space.cluster) == {pod.pk: BEGINNING}
    for n in range(2):
        DirtyHour.objects.get_or_create(
            cluster=space.cluster,
            hour_start=TEN + n * HOUR,
            defaults={"marked_at": TEN},
        )
    hour.settle()
    assert windows_of() == {"vision": 7, "unmapped": 17}
    NamespaceLabels.objects.create(
        namespace=space,
        valid_from=TEN + 50 * MINUTE,
        labels={"label_example_com_team": "voice"},
    )
    assert resolve_pods(space.cluster) == {pod.pk: TEN + 50 * MINUTE}
    assert resolve_pods(space.cluster) == {}


def test_a_nodes_lifecycle_counts_from_the_sample_that_shows_it(hour: Books) -> None:
    NodeFact.objects.create(
        node=Node.objects.get(), valid_from=TEN + 31 * MINUTE, lifecycle="spot"
    )
    DirtyHour.objects.create(
        cluster=Node.objects.get().cluster, hour_start=TEN, marked_at=TEN
    )
    hour.settle()
    rows = report("usage", by="lifecycle", to=(TEN + HOUR).isoformat())
    assert {r["lifecycle"]: r["allocated_ms"] // WINDOW_MS for r in rows} == {
        "on-demand": 7,
        "spot": 5,
    }


def test_facts_agree_with_hours_and_days_about_every_change(hour: Books) -> None:
    """The same rows whether they come from five-minute facts or from rollups."""
    rule_from(TEN + 47 * MINUTE)
    set_price("3", TEN + 70 * MINUTE)
    hour.settle()
    from_days = report("usage", by="team,model")
    assert report("usage", by="team,model", **{"from": TEN.isoformat()}) == from_days
    from_facts = report("usage", by="team,gpu")
    assert len(from_facts) == 2
    for fact, row in zip(from_facts, from_days, strict=True):
        assert fact | {"model": row["model"]} == row | {"gpu": "GPU-1"}


def set_price(rate: str, start: datetime) -> None:
    set_unit_price(
        model="NVIDIA-L40S",
        rate_per_gpu_hour=Decimal(rate),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=start,
        actor="tests",
        reason="A new contract.",
    )


def test_a_changed_rule_rolls_hours_again_and_touches_no_fact(hour: Books) -> None:
    before = stored()
    rule_from(TEN + HOUR)
    assert windows_of() == {"vision": 24}  # until workers have rolled up
    assert DirtyHour.objects.filter(reason="binding").count() == 2
    hour.settle()
    assert windows_of() == {"vision": 12, "audio": 12}
    assert stored() == before
    assert not DirtyHour.objects.exists()


def test_a_changed_price_rolls_its_hours_again_and_touches_no_fact(hour: Books) -> None:
    before = stored()
    set_price("3", TEN + HOUR)
    marked = list(DirtyHour.objects.values_list("hour_start", "reason"))
    assert marked == [(TEN + HOUR, "price")]  # 10:00 keeps its price
    hour.settle()
    assert report("usage")[0]["charge"] == "5.000000"  # 2 + 3
    assert stored() == before


def test_a_back_dated_price_reaches_every_hour_of_its_model(hour: Books) -> None:
    hour.hours(hour.gpu("GPU-2", model="NVIDIA-A10"), TEN + 3 * HOUR, TEN + 4 * HOUR)
    hour.settle()
    set_price("3", TEN - 24 * 365 * HOUR)
    assert set(DirtyHour.objects.values_list("hour_start", flat=True)) == {
        TEN,
        TEN + HOUR,
    }
    hour.settle()
    assert report("usage")[0]["charge"] == "6.000000"


def test_configure_that_changes_money_touches_no_fact(hour: Books) -> None:
    before = stored()
    hour.configure(
        SET_UP.replace('"2"', '"2.5"').replace("team: vision}", "team: audio}")
    )
    [row] = report("usage", by="team")
    assert (row["team"], row["charge"]) == ("audio", "5.000000")
    assert stored() == before


def test_a_rollup_that_runs_again_gives_the_same_rows(hour: Books) -> None:
    def rolled() -> list[tuple[object, ...]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM usage_hour ORDER BY 1, 2")
            rows: list[tuple[object, ...]] = cursor.fetchall()
            cursor.execute("SELECT * FROM usage_day ORDER BY 1, 2")
            return [*rows, *cursor.fetchall()]

    before = rolled()
    for n in range(2):
        DirtyHour.objects.create(
            cluster=Node.objects.get().cluster,
            hour_start=TEN + n * HOUR,
            marked_at=TEN,
        )
    hour.settle()
    assert rolled() == before
    assert to_ms(TEN) % HOUR_MS == 0
