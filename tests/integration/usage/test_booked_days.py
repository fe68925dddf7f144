"""Reports of closed days have the charges that were booked, to the last place (money.md M5).

Aspects: late facts, prices and mapping after a close; ranges over closed and open days, and within
a day; hours of a charge; methods that spread; what is corrected and measured; teams of a lead.
Not here: charges of bookings themselves (`booking/`), files (`exports/`).
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from accounting.access.models.teams import Team
from accounting.access.scope import Scope
from accounting.core.interval import Interval
from accounting.core.ledger_line import STATES
from accounting.core.rounding import split_money
from accounting.kit.reads.selection import Selection
from accounting.metering.models.pod import Workload
from accounting.metering.models.usage import UsageHour
from accounting.months.models.charge import ChargeLine
from accounting.months.models.entry import Entry
from accounting.months.models.period import BillingPeriod
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from accounting.usage.reads.ranking import largest, moved_most
from accounting.usage.reads.usage import usage_rows
from tests.euros import number
from tests.integration.metering.support import report
from tests.integration.prices.books import WINDOW, Books

HOUR = timedelta(hours=1)
OCTOBER, NOVEMBER = "2026-10", "2026-11"
NIGHT = datetime(
    2026, 10, 6, 20, tzinfo=UTC
)  # four hours before and after a midnight of UTC
BY = (
    "team",
    "model",
    "tier",
    "workload",
    "family",
    "namespace",
    "day",
    "lifecycle",
    "cluster",
    "hour",
)
LEDGER_BY = ("cluster", "model", "lifecycle", "day", "hour", "day,model")
SET_UP = """
billing: {currency: EUR, timezone: ZONE}
teams: [{slug: a, name: A}, {slug: b, name: B}, {slug: c, name: C}]
bindings:
  - {namespace: a, team: a}
  - {namespace: b, team: b}
  - {namespace: c, team: c}
prices:
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "1.234567"}
  - {model: NVIDIA-L40S, tier: low, rate_per_gpu_hour: "0.777777"}
"""


def charged(rows: Sequence[dict[str, Any]], name: str = "charge") -> Decimal:
    return sum((Decimal(row[name]) for row in rows), Decimal(0))


def by(
    kind: str, names: str, name: str = "charge", **options: str
) -> dict[str, Decimal]:
    """The charges of a report, by the first of its dimensions."""
    field = names.split(",", maxsplit=1)[0]
    found: dict[str, Decimal] = {}
    for row in report(kind, by=names, **options):
        found[row[field]] = found.get(row[field], Decimal(0)) + Decimal(row[name] or 0)
    return found


def use(books: Books, zone: str = "Europe/Berlin") -> None:
    """Three GPUs over two billing days of October, and one of them in November."""
    books.configure(SET_UP.replace("ZONE", zone))
    gpus = [books.gpu(f"GPU-{n}") for n in range(3)]
    pods = [
        books.pod("train", space="a"),
        books.pod("serve", space="b", tier="low"),
        books.pod("notebook", space="c"),
    ]
    with books.together():
        for n in range(96):
            for g, gpu in enumerate(gpus):
                pod, at = pods[(n + g) % 3], NIGHT - 4 * HOUR + n * WINDOW
                busy, idle = 70_003 + 7 * n, 50_001 * g + n
                books.write(gpu, at, pod, busy=busy, idle=idle, unknown=11)
                books.write(gpu, at, free=300_000 - busy - idle - 14, dark=3)
    books.write(gpus[0], datetime(2026, 11, 3, 10, tzinfo=UTC), pods[0], busy=100_001)
    books.settle()


def late_fact(books: Books, zone: str = "Europe/Berlin") -> None:
    """An hour of team c that becomes known after the close, and another price."""
    gpu = books.gpu("GPU-late")
    books.hours(gpu, NIGHT, NIGHT + HOUR, books.pod("late", space="c"))
    books.configure(SET_UP.replace("ZONE", zone).replace("1.234567", "3"))
    books.settle()


def own(period: str, names: str, *, is_held: bool = True) -> dict[str, Decimal]:
    """Own charges of a booking by the first of some fields."""
    found: dict[str, Decimal] = {}
    for row in report("charges", period=period, by=f"{names},kind,corrects,team"):
        if row["corrects"] or (is_held and row["team"] == "platform"):
            continue
        if row["kind"] in ("credit", "adjustment", "rounding"):
            continue
        key = row[names.split(",", maxsplit=1)[0]]
        found[key] = found.get(key, Decimal(0)) + Decimal(row["charge"])
    return found


@pytest.mark.parametrize(
    ("method", "zone"),
    [
        ("alloc-v1", "Europe/Berlin"),
        ("busy-v1+even", "Asia/Kolkata"),
        ("alloc-v1+alloc", "Europe/Berlin"),
    ],
)
def test_every_slice_is_what_was_booked_and_does_not_move(
    books: Books, method: str, zone: str
) -> None:
    BillingPeriod.objects.create(name=OCTOBER, method=method)
    use(books, zone)
    close_period(OCTOBER)
    days = {"from": "2026-10-01", "to": "2026-11-01"}
    usage = {name: report("usage", by=name, **days) for name in BY}
    ledger = {name: report("ledger", by=name, **days) for name in LEDGER_BY}
    held, everything = own(OCTOBER, "team"), own(OCTOBER, "day", is_held=False)
    assert {row["team"]: Decimal(row["charge"]) for row in usage["team"]} == held
    for name in BY:
        assert charged(usage[name]) == sum(held.values()), name
    for name in LEDGER_BY:
        assert charged(ledger[name], "wall_charge") == sum(everything.values()), name
    for name in ("model", "namespace", "day", "workload", "tier"):
        assert by("usage", name, **days) == own(OCTOBER, name), name
    late_fact(books, zone)
    for name in BY:
        money = ["charge", "idle_charge"]
        before = [[row[one] for one in money] for row in usage[name]]
        now = report("usage", by=name, **days)
        kept = [[row[one] for one in money] for row in now if Decimal(row["charge"])]
        assert kept == [row for row in before if Decimal(row[0])], name
        assert charged(report("usage", by=name, **days)) == sum(held.values()), name
    for name in LEDGER_BY:
        rows = report("ledger", by=name, **days)
        assert charged(rows, "wall_charge") == sum(everything.values()), name
        for row in rows:
            cells = [Decimal(row[f"{state}_charge"] or 0) for state in STATES]
            assert sum(cells) == Decimal(row["wall_charge"])


def test_time_is_as_known_now(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    before = report("usage", by="team", to="2026-11-01")
    late_fact(books)
    after = report("usage", by="team", to="2026-11-01")
    moved = [
        now["allocated_ms"] - then["allocated_ms"]
        for then, now in zip(before, after, strict=True)
    ]
    assert moved == [0, 0, 3_600_000]
    assert [row["charge"] for row in after] == [row["charge"] for row in before]


def test_a_range_over_both_is_the_sum_of_both(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    closed = by("usage", "team", to="2026-11-01")
    opened = by("usage", "team", **{"from": "2026-11-01"})
    both = by("usage", "team")
    assert both == {slug: closed[slug] + opened.get(slug, 0) for slug in closed}
    assert opened == {"a": Decimal("0.083334")}  # 100,001 ms at 3.00


@pytest.mark.parametrize(
    ("kind", "zone"), [("usage", "Asia/Kolkata"), ("ledger", "America/Santiago")]
)
def test_parts_of_a_day_are_the_day(books: Books, kind: str, zone: str) -> None:
    """A range that begins or ends within a day has the hours of its charges."""
    use(books, zone)
    close_period(OCTOBER)
    late_fact(books, zone)
    money = "charge" if kind == "usage" else "wall_charge"
    whole = charged(report(kind, by="", to="2026-11-01"), money)
    for minutes in (0, 60, 240, 305, 400):
        cut = (NIGHT + timedelta(minutes=minutes)).isoformat()
        before = charged(report(kind, by="cluster", to=cut), money)
        after = charged(
            report(kind, by="cluster", **{"from": cut, "to": "2026-11-01"}), money
        )
        if minutes % 60 == 0:
            assert before + after == whole, minutes
        else:  # the hour that is cut is measured
            hour = NIGHT + timedelta(minutes=minutes - minutes % 60)
            edge = {"from": hour.isoformat(), "to": (hour + HOUR).isoformat()}
            booked = charged(report(kind, by="", **edge), money)
            measured = [
                charged(report(kind, by="", **part, **{"as": "measured"}), money)
                for part in ({**edge, "to": cut}, {**edge, "from": cut})
            ]
            assert before + after == whole - booked + sum(measured), minutes


def hours_by_the_rule() -> dict[tuple[str, ...], Decimal]:
    """Charges by team, workload, tier and hour: each line divided by the rule over values."""
    times: dict[tuple[object, ...], dict[str, Fraction]] = {}
    for row in UsageHour.objects.exclude(namespace_id=0):
        team = Team.objects.get(pk=row.team_id).slug
        work = Workload.objects.get(pk=row.workload_id).name
        for state in ("busy", "idle", "unknown"):
            if ms := getattr(row, f"{state}_ms"):
                hours = times.setdefault(
                    (row.billing_on, team, work, row.tier, state), {}
                )
                at = f"{row.hour_start:%Y-%m-%dT%H:00:00Z}"
                hours[at] = hours.get(at, Fraction(0)) + ms
    found: dict[tuple[str, ...], Decimal] = {}
    for line in ChargeLine.objects.filter(kind="usage", corrects=""):
        weights = times[
            line.billing_on, line.team, line.workload, line.tier, line.state
        ]
        total = sum(weights.values())
        parts = split_money(
            {at: ms * Fraction(line.charge or 0) / total for at, ms in weights.items()}
        )
        for at, part in parts.items():
            key = (line.team, line.workload, line.tier, at)
            found[key] = found.get(key, Decimal(0)) + part
    return found


def test_hours_are_those_of_the_rule_over_values(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    rows = report("usage", by="team,workload,tier,hour", to="2026-11-01")
    assert {
        (row["team"], row["workload"], row["tier"], row["hour"]): Decimal(row["charge"])
        for row in rows
    } == hours_by_the_rule()
    assert len(rows) > 20


def test_a_charge_of_a_millionth_is_in_the_first_of_two_equal_hours(
    books: Books,
) -> None:
    """X10: 0.000001 over two hours of equal raw."""
    books.configure(
        """
billing: {currency: EUR, timezone: UTC}
teams: [{slug: a, name: A}]
bindings: [{namespace: a, team: a}]
prices: [{model: NVIDIA-L40S, rate_per_gpu_hour: "0.000006"}]
"""
    )
    gpu, pod = books.gpu(), books.pod(space="a")
    for at in (NIGHT, NIGHT + HOUR):
        books.write(gpu, at, pod, busy=300_000)
    books.settle()
    close_period(OCTOBER)
    assert [row["charge"] for row in report("usage", by="hour")] == [
        "0.000001",
        "0.000000",
    ]


def moved(books: Books) -> None:
    """Team b's namespace is another team's, after the close."""
    books.configure(
        SET_UP.replace("ZONE", "Europe/Berlin").replace(
            "namespace: b, team: b", "namespace: b, team: c"
        )
    )
    books.settle()


def test_hours_of_a_closed_day_do_not_move(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    october = {"from": "2026-10-01", "to": "2026-11-01"}
    cut = {"from": "2026-10-06T18:00:00Z", "to": "2026-10-06T23:00:00Z"}
    reads = [
        ("usage", "team,workload,hour", october),
        ("usage", "hour", october | {"team": "b"}),
        ("usage", "team", cut),
    ]
    before = [charges_of(*one) for one in reads]
    assert all(before)
    late_fact(books)
    assert [charges_of(*one) for one in reads] == before
    moved(books)
    assert [charges_of(*one) for one in reads] == before


def charges_of(kind: str, names: str, options: dict[str, str]) -> list[tuple[str, ...]]:
    """The charges of a report that are not 0, by its dimensions."""
    rows = report(kind, by=names, **options)
    fields = (*names.split(","), "charge")
    return [
        tuple(row[name] for name in fields) for row in rows if Decimal(row["charge"])
    ]


def test_a_charge_without_hours_is_in_the_first_hour_of_its_day(books: Books) -> None:
    """Of the correction of a team that has none of its time any more."""
    use(books)
    close_period(OCTOBER)
    moved(books)
    book_running(NOVEMBER)
    october = {"team": "b", "from": "2026-10-01", "to": "2026-11-01"}
    booked = by("usage", "hour", **october)
    corrected = by("usage", "hour", **october, **{"as": "corrected"})
    later = {hour: corrected[hour] - booked.get(hour, 0) for hour in corrected}
    assert [hour for hour, amount in later.items() if amount] == [
        "2026-10-05T22:00:00Z",
        "2026-10-06T22:00:00Z",
    ]
    assert sum(later.values()) == -own(OCTOBER, "team")["b"]
    assert sum(corrected.values()) == 0


def test_corrected_adds_what_other_months_have_booked(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    book_running(NOVEMBER)
    october = {"from": "2026-10-01", "to": "2026-11-01"}
    for name in ("team", "day", "workload"):
        corrected = by("usage", name, **october, **{"as": "corrected"})
        measured = by("usage", name, **october, **{"as": "measured"})
        assert set(corrected) == set(measured)
        for key, amount in corrected.items():
            assert abs(amount - measured[key]) <= Decimal("0.000004"), (name, key)
    everything = charged(
        report("ledger", by="", **october, **{"as": "corrected"}), "wall_charge"
    )
    fleet = charged(
        report("ledger", by="", **october, **{"as": "measured"}), "wall_charge"
    )
    assert abs(everything - fleet) <= Decimal("0.000004")


def test_corrected_has_the_entries_of_its_days(books: Books) -> None:
    use(books)
    author = get_user_model().objects.create_user("finance")
    Entry.objects.create(
        number="1",
        kind="credit",
        team=Team.objects.get(slug="a"),
        billing_on=date(2026, 11, 3),
        amount=Decimal("-1.50"),
        currency="EUR",
        reason="agreed in the monthly review",
        author=author,
    )
    close_period(OCTOBER)
    book_running(NOVEMBER)
    days = {"from": "2026-11-01", "to": "2026-12-01"}
    booked = by("usage", "team", **days)
    corrected = by("usage", "team", **days, **{"as": "corrected"})
    assert corrected == {"a": booked["a"] - Decimal("1.50")}
    hours = by("usage", "hour", **days, **{"as": "corrected"})
    assert hours["2026-11-02T23:00:00Z"] == Decimal("-1.50")  # midnight in Berlin


def test_measured_is_time_x_price_as_known_now(books: Books) -> None:
    use(books)
    before = report("usage", by="team,day")
    close_period(OCTOBER)
    assert report("usage", by="team,day", **{"as": "measured"}) == before
    late_fact(books)
    assert report("usage", by="team,day", **{"as": "measured"}) != before


def test_reports_by_gpu_are_measured(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    for name in ("gpu", "node", "pod"):
        plain = report("usage", by=name)
        assert plain == report("usage", by=name, **{"as": "measured"}), name


def test_a_lead_has_the_booked_charges_of_their_teams(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    team = Team.objects.get(slug="b")
    scope = Scope(team_ids=frozenset({team.pk}))
    period = Interval.of(
        datetime(2026, 9, 30, 22, tzinfo=UTC), datetime(2026, 10, 31, 23, tzinfo=UTC)
    )
    rows = usage_rows(Selection(scope, period), ("team",))
    assert {row.key["team"]: number(row.charge) for row in rows} == {
        "b": own(OCTOBER, "team")["b"]
    }


def test_the_largest_workloads_are_ranked_by_what_was_booked(books: Books) -> None:
    use(books)
    close_period(OCTOBER)
    late_fact(books)
    everything = Scope(team_ids=None)
    found = largest(Selection(everything), ("workload",), "charge", 10, 2)
    shown = {row.key["workload"]: number(row.charge) for row in found.rows}
    booked = by("usage", "workload")
    booked = {name: booked[name] for name in shown}
    for name, amount in shown.items():
        assert abs(amount - booked[name]) < Decimal("0.01")
    order = [booked[name] for name in shown]
    assert order == sorted(order, reverse=True)
    closed = Interval.of(
        datetime(2026, 10, 6, 22, tzinfo=UTC), datetime(2026, 10, 7, 22, tzinfo=UTC)
    )
    before = Interval.of(
        datetime(2026, 10, 5, 22, tzinfo=UTC), datetime(2026, 10, 6, 22, tzinfo=UTC)
    )
    days = by("usage", "day", team="b")
    changed = days["2026-10-07"] - days["2026-10-06"]
    [serve] = [
        one.change.difference
        for one in moved_most(Selection(everything, closed), before, 10, 2)
        if one.family == "serve"
    ]
    assert abs(serve - changed) <= Decimal("0.01")


def test_time_that_was_booked_without_a_price_stays_without(books: Books) -> None:
    without = SET_UP[: SET_UP.index("prices:")]
    books.configure(without.replace("ZONE", "Europe/Berlin"))
    books.hours(books.gpu(), NIGHT, NIGHT + HOUR, books.pod("train", space="a"))
    books.settle()
    close_period(OCTOBER)
    books.configure(SET_UP.replace("ZONE", "Europe/Berlin"))
    books.settle()
    for name in ("team", "hour"):
        [row] = report("usage", by=name)
        assert (row["charge"], row["unpriced_gpu_hours"]) == (None, "1.000000")
        [row] = report("usage", by=name, **{"as": "measured"})
        assert row["charge"] == "1.234567"
    [row] = report("ledger", by="hour")
    assert row["wall_charge"] is None
