"""Idle and unallocated cost, and the parts that sum to them: by hand, over REST, on pages."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.template.loader import render_to_string

from accounting.access.scope import EVERYTHING
from accounting.core.billing_calendar import DAY as ONE_DAY
from accounting.core.billing_calendar import DayRange
from accounting.core.money import Money
from accounting.kit.reads.selection import Selection
from accounting.kit.tags.units import money
from accounting.metering.models.cluster import NodeFact
from accounting.prices.models.price import UnitPrice
from scheduler_view.queues.models.memory import KeptNode
from scheduler_view.savings.models import WasteDay
from scheduler_view.savings.reads.bridge import Bridge, bridges
from scheduler_view.savings.reads.evidence import evidence_of
from scheduler_view.savings.reads.rows import waste_report
from scheduler_view.savings.tasks.compute import compute_due
from tests.integration.conftest import SignIn
from tests.integration.savings.fleet import HOUR, START, Fleet, make_fleet, sample
from tests.integration.savings.test_compute import DAY
from tests.integration.savings.test_pages import DAYS, text
from tests.integration.savings.test_recommendations import person

pytestmark = pytest.mark.django_db
Shown = list[tuple[str, int, Decimal | None]]


@pytest.fixture
def fleet() -> Fleet:
    """Data end at 06:00 of the second day."""
    return make_fleet(START + 30 * HOUR)


def shown(bridge: Bridge) -> Shown:
    """Part, GPU-ms and money of each row, the total last."""
    return [(row.part, row.gpu_ms, row.amount) for row in bridge.rows]


def bridges_of(fleet: Fleet, days: int = 1, **filters: tuple[str, ...]) -> list[Bridge]:
    """Of the first days; of those that are measured the findings are known."""
    found = DayRange(DAY, DAY + days * ONE_DAY)
    measured = WasteDay.objects.order_by("day").values_list("day", flat=True)
    assert fleet.cluster.pk
    return bridges(Selection(EVERYTHING, None, filters), found, list(measured), 2)


def test_idle_cost_is_findings_and_busy_windows_and_what_is_too_short(
    fleet: Fleet,
) -> None:
    # idle: 7 windows of 300,000 ms = 2,100,000 ms, at 2.50 an hour 1.46
    # in use: 2 windows, 93 % idle each: 558,000 ms = 0.39
    # too short: 3 windows = 900,000 ms = 0.63; all together 3,558,000 ms = 2.47 (2.4708)
    fleet.hold("train", "bbb" + "mm" + "b" + "i" * 7 + "b")
    fleet.hold("short", "biiib")
    fleet.roll_up()
    assert compute_due(fleet.cluster) == 1
    idle, unallocated = bridges_of(fleet)
    assert shown(idle) == [
        ("idle", 2_100_000, Decimal("1.46")),
        ("idle_in_use", 558_000, Decimal("0.39")),
        ("rest", 900_000, Decimal("0.62")),  # takes what rounding leaves
        ("total", 3_558_000, Decimal("2.47")),
    ]
    assert idle.actionable == Money(Decimal("1.46"), "USD")
    assert unallocated.total.gpu_ms == 0
    rows = waste_report(EVERYTHING, DayRange(DAY, DAY + ONE_DAY), 2).rows
    assert [row.rule for row in rows] == ["idle"], "time in use is no finding"


def test_a_part_without_a_price_is_named_so(fleet: Fleet) -> None:
    UnitPrice.objects.all().delete()
    fleet.hold("train", "b" + "i" * 7 + "b")
    fleet.roll_up()
    compute_due(fleet.cluster)
    [idle, _] = bridges_of(fleet)
    assert (idle.parts[0].part, idle.parts[0].is_unpriced) == ("idle", True)
    assert not idle.total.is_unpriced, "its amount is None already"
    row = replace(idle.parts[0], amount=Decimal(0), currency="USD")
    shown_row = render_to_string("savings/_bridge_row.html", {"row": row})
    assert "No price" in shown_row
    assert "0.00" not in shown_row


def test_pods_of_one_unit_have_one_row_of_time_in_use(fleet: Fleet) -> None:
    for name in ("a", "b", "c"):
        fleet.hold(name, "mmmm", workload="service")
    fleet.roll_up()
    compute_due(fleet.cluster)
    [idle, _] = bridges_of(fleet)
    assert shown(idle)[0][:2] == ("idle_in_use", 3 * 4 * 279_000)
    count = fleet.cluster.waste_days.count()
    assert count == 1


def test_gangs_and_limits_have_only_their_idle_time_in_the_bridge(fleet: Fleet) -> None:
    # 30 min busy, 15 min idle, after a limit of 10 minutes: 2,100,000 ms past it, 900,000 idle
    fleet.hold("long", "bbbbbbiiib", labels={"label_max_duration": "10m"})
    fleet.roll_up()
    compute_due(fleet.cluster)
    [idle, _] = bridges_of(fleet)
    assert shown(idle) == [
        ("too_long", 900_000, Decimal("0.62")),
        ("rest", 0, Decimal("0.00")),
        ("total", 900_000, Decimal("0.62")),
    ]


def test_unallocated_cost_is_by_rule_and_state_at_what_teams_are_charged(
    fleet: Fleet,
) -> None:
    # Two GPUs are free for an hour: 7,200,000 ms = 5.00. One unit is held back for half of it;
    # the node is kept for all of it, at no known cost: its time has the price of the ledger.
    # A third GPU is free for an hour of the next day, which is not measured: 2.50.
    fleet.free(12)
    fleet.free(12)
    sample(fleet, START, START + HOUR / 2, policy={"n1": 1})
    since = START + HOUR / 2
    KeptNode.objects.create(
        cluster=fleet.cluster, node="n1", since=since, until=START + HOUR, pods=[]
    )
    fleet.roll_up()
    compute_due(fleet.cluster)
    fleet.free(12, at=START + 24 * HOUR)
    fleet.roll_up()
    _, unallocated = bridges_of(fleet, days=2)
    assert shown(unallocated) == [
        ("thrashing", 1_800_000, Decimal("1.25")),
        ("node_kept", 3_600_000, Decimal("2.50")),
        ("rest", 1_800_000, Decimal("1.25")),
        ("not_measured", 3_600_000, Decimal("2.50")),
        ("total", 10_800_000, Decimal("7.50")),
    ]
    [only] = bridges_of(fleet, team=("vision",))
    assert only.total.cost == "idle", "free time is of no team"


@pytest.mark.parametrize(
    ("capacity", "labels", "advice"),
    [
        ({"nvidia_com_gpu": 8}, {}, "Pack small pods together"),
        ({"nvidia_com_mig_1g_10gb": 7}, {}, "Repartition its GPUs"),
        (
            {"nvidia_com_gpu": 32},
            {"label_nvidia_com_gpu_replicas": "4"},
            "Stop sharing its GPUs",
        ),
    ],
)
def test_advice_fits_how_the_gpus_of_a_node_are_divided(
    fleet: Fleet, capacity: dict[str, int], labels: dict[str, str], advice: str
) -> None:
    NodeFact.objects.update(capacity=capacity, labels=labels)
    fleet.hold("train", "b" * 12)
    fleet.free(12, free_ms=100_000)  # a third of a GPU; usual pods request whole ones
    fleet.roll_up()
    compute_due(fleet.cluster)
    report = waste_report(EVERYTHING, DayRange(DAY, DAY + ONE_DAY), 2)
    [row] = report.rows
    assert (row.rule, row.is_in_totals) == ("fragmented", False)
    page = person("root", "admin").get(f"/waste?from={DAY}&to={DAY + ONE_DAY}")
    assert advice in text(page)
    assert report.gpu_ms == 0, "it is no saving"
    assert report.totals == ()


@pytest.mark.parametrize("places", [2, 3])
def test_the_findings_of_a_rule_come_to_its_part_of_the_bridge(
    fleet: Fleet, places: int
) -> None:
    # idle: 8 windows at 2.50 an hour, 1.666667; three tails: 7 windows each, 1.458333. As one
    # list of 6.041667 the tails have the larger remainders, and 1.66 was left for the idle one.
    fleet.hold("train", "b" + "i" * 8 + "b")
    for name in ("alpha", "gamma", "omega"):
        fleet.hold(name, "b" + "i" * 7)
    fleet.roll_up()
    compute_due(fleet.cluster)
    days = DayRange(DAY, DAY + ONE_DAY)
    [idle, _] = bridges(Selection(EVERYTHING, None, {}), days, [DAY], places)
    report = waste_report(EVERYTHING, days, places)
    of_rules = {row.part: row.amount for row in idle.parts if row.part != "rest"}
    assert of_rules.keys() == {"idle", "tail"}
    for rule, amount in of_rules.items():
        assert amount == sum(row.amount or 0 for row in report.rows if row.rule == rule)
    assert [one.amount for one in report.totals] == [sum(of_rules.values())]  # type: ignore[arg-type]
    assert idle.total.amount == sum(row.amount or 0 for row in idle.parts)


def test_work_of_one_family_is_one_row_for_each_rule(fleet: Fleet) -> None:
    # never busy: 2 GPUs x 1 h, 1 GPU x 2 h and 1 GPU x 1 h at 2.50; tail: 20 minutes
    fleet.hold("video-bcdfg", "i" * 12, "i" * 12)
    fleet.hold("video-x9kqz", "i" * 24)
    fleet.hold("video-zzzzz", "bbbbbbiiii")
    fleet.hold("video-qqqqq", "i" * 12, team="search")
    fleet.hold("audio", "i" * 12)
    fleet.roll_up()
    compute_due(fleet.cluster)
    days = DayRange(DAY, DAY + ONE_DAY)
    report = waste_report(EVERYTHING, days, 2)
    assert [
        (row.rule, row.workload, row.team, row.works, row.amount) for row in report.rows
    ] == [
        ("never_busy", "video", "vision", 2, Decimal("10.00")),
        ("never_busy", "video-qqqqq", "search", 1, Decimal("2.50")),
        ("never_busy", "audio", "vision", 1, Decimal("2.50")),
        ("tail", "video-zzzzz", "vision", 1, Decimal("0.83")),
    ]
    assert sum(row.works for row in report.rows) == 5
    total = sum(row.amount or 0 for row in report.rows)
    assert [one.amount for one in report.totals] == [total]
    found = evidence_of(report.rows, days)
    of_first = found["never_busy", "USD", report.rows[0].key]
    assert [(one.pod, one.gpu_ms) for one in of_first] == [
        ("video-bcdfg", 7_200_000),
        ("video-x9kqz", 7_200_000),
    ]
    assert len(found) == 4


def test_a_cost_per_day_is_divided_by_the_measured_days_of_its_cluster(
    fleet: Fleet,
) -> None:
    fleet.hold("idle", "i" * 24)  # 2 h at 2.50 on the only measured day of this cluster
    fleet.roll_up()
    compute_due(fleet.cluster)
    other = type(fleet.cluster).objects.create(name="other")
    for n in range(1, 3):
        WasteDay.objects.create(
            cluster=other,
            day=DAY + timedelta(days=n),
            digest="",
            computed_at=START,
        )
    report = waste_report(EVERYTHING, DayRange(DAY, DAY + 3 * ONE_DAY), 2)
    [row] = report.rows
    assert (row.days, row.amount_per_day) == (1, Decimal("5.00"))
    assert report.measured == 3


def test_bars_divide_each_cost_by_what_people_can_do(fleet: Fleet) -> None:
    """As above: 1.46 idle, 0.39 inside busy windows, 0.62 too short; a GPU was free for 10.00."""
    fleet.hold("train", "bbb" + "mm" + "b" + "i" * 7 + "b")
    fleet.hold("short", "biiib")
    fleet.free(48)
    fleet.roll_up()
    compute_due(fleet.cluster)
    days = f"from={DAY}&to={DAY + ONE_DAY}"
    page = person("root", "admin").get(f"/waste?{days}")
    idle, unallocated = page.context["bars"]
    amounts = {kind: amount.amount for kind, amount in idle.amounts.items()}
    assert amounts == {
        "action": Decimal("1.46"),
        "explained": Decimal("0.39"),
        "elsewhere": Decimal("0.62"),
    }
    for bar in (idle, unallocated):
        assert (
            sum(one.amount for one in bar.amounts.values()) == bar.bridge.whole.amount
        )
    assert unallocated.bridge.whole.amount == Decimal("10.00")
    drawn = sum(part.width for part in idle.parts)
    assert drawn == pytest.approx(24.7, abs=1), "on the scale of the larger cost"
    rules = page.context["rule_bars"]
    assert [one.title for one in rules] == ["Idle holder", "Idle inside busy windows"]
    assert [one.kind for one in rules] == ["action", "explained"]
    assert rules[1].url == "", "it has no findings in the list"
    words = text(page)
    assert "$1.46 of $2.47 idle cost and $0.00 of $10.00 unallocated cost" in words
    assert "The largest: idle holder ($1.46)." in words
    assert "Unallocated cost, with no data: $10.00" in words, "as the table below it"


def test_the_sums_over_findings_of_one_rule_are_of_that_rule(fleet: Fleet) -> None:
    fleet.hold("train", "bbb" + "mm" + "b" + "i" * 7 + "b")
    fleet.hold("lazy", "i" * 24)
    fleet.roll_up()
    compute_due(fleet.cluster)
    ana, days = person("root", "admin"), f"from={DAY}&to={DAY + ONE_DAY}"
    every = ana.get(f"/waste?{days}").context["report"]
    claimed = [row for row in every.rows if row.is_in_totals]
    assert len({row.rule for row in claimed}) == len(claimed) == 2
    for row in claimed:
        page = ana.get(f"/waste?{days}&rule={row.rule}")
        assert page.context["report"].gpu_ms == row.gpu_ms < every.gpu_ms
        assert f"GPU-hours = {money(Money(row.amount, row.currency))} in" in text(page)


def test_rest_sums_to_the_idle_and_the_unallocated_cost_of_the_range(
    sign_in: SignIn,
) -> None:
    """Of measured days, and of a range that has others too."""
    ana = sign_in("ana")
    for days in (DAYS, "from=2026-11-10&to=2026-11-22"):
        rows = ana.get(f"/api/v1/waste-bridge?{days}").json()["rows"]
        [ledger] = ana.get(f"/api/v1/ledger?{days}").json()["rows"]
        states = ("free", "stranded", "stray", "dark")
        wanted = {
            "idle": (Decimal(ledger["idle_charge"]), ledger["idle_ms"]),
            "unallocated": (
                sum(Decimal(ledger[f"{one}_charge"]) for one in states),
                sum(ledger[f"{one}_ms"] for one in states),
            ),
        }
        for cost, (amount, gpu_ms) in wanted.items():
            of_cost = [row for row in rows if row["cost"] == cost]
            *parts, total = of_cost
            assert total["part"] == "total"
            assert abs(Decimal(total["amount"]) - amount) <= Decimal("0.00001")
            assert total["gpu_ms"] == gpu_ms > 0
            assert sum(Decimal(row["amount"]) for row in parts) == Decimal(
                total["amount"]
            )
            assert sum(row["gpu_ms"] for row in parts) == gpu_ms
    out = StringIO()
    call_command(
        *("report", "waste-bridge", "--from", "2026-11-10", "--to", "2026-11-22"),
        *("--format", "json"),
        stdout=out,
    )
    assert json.loads(out.getvalue())["rows"] == rows


def test_a_lead_gets_the_idle_cost_of_their_team_everywhere_the_same(
    sign_in: SignIn,
) -> None:
    luis = sign_in("luis")
    rows = luis.get(f"/api/v1/waste-bridge?{DAYS}").json()["rows"]
    assert {row["cost"] for row in rows} == {"idle"}
    (used,) = luis.get(f"/api/v1/usage?by=team&team=vision&{DAYS}").json()["rows"]
    assert rows[-1]["amount"] == used["idle_charge"]
    assert rows[-1]["gpu_ms"] == used["idle_ms"]
    page = text(luis.get(f"/waste?{DAYS}"))
    (bar,) = luis.get(f"/waste?{DAYS}").context["bars"]
    whole, actionable = bar.bridge.whole, bar.bridge.actionable
    assert whole.amount == round(Decimal(used["idle_charge"]), 2)
    assert "unallocated cost" not in page
    team = text(luis.get(f"/teams/vision/give-back?{DAYS}"))
    assert f"{money(actionable)} of {money(whole)} idle cost is in findings" in team
    cells = re.findall(
        r"([A-Z][\w ]+?) ([\d,.]+) €([\d,.]+)",
        page[page.index("Parts of the idle cost") :].partition("Cost by rule")[0],
    )
    amounts = [Decimal(amount) for _, _, amount in cells if _]
    assert sum(amounts[:-1]) == amounts[-1]
    assert cells[-1][0] == "Idle cost"


def test_a_click_on_a_rule_lists_its_findings_alone(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    page = ana.get(f"/waste?{DAYS}")
    (bar,) = [one for one in page.context["rule_bars"] if one.title == "Never busy"]
    chosen = ana.get(bar.url)
    lines = [*chosen.context["lines"], *chosen.context["apart_lines"]]
    assert {line.row.rule for line in lines} == {"never_busy"}
    assert [one.amount for one in chosen.context["rule_bars"]] == [
        one.amount for one in page.context["rule_bars"]
    ], "the costs stay those of all rules"
    (same,) = [one for one in chosen.context["rule_bars"] if one.is_current]
    assert "rule=" not in same.url, "a second click ends the filter"
    assert ana.get(f"/waste?{DAYS}&rule=nothing").status_code == 400


def test_a_rule_that_saves_nothing_is_not_said_to_have_no_findings(
    sign_in: SignIn,
) -> None:
    page = text(sign_in("ana").get(f"/waste?{DAYS}&rule=fragmented"))
    assert "These findings are not added to what can be saved. They are below." in page
    assert "Nothing to save" not in page
