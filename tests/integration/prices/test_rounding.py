"""Money is exact until a list is shown, then split so that everything sums (rules.md N28, N29)."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from accounting.core.ledger_line import STATES
from accounting.prices.models.price import UnitPrice
from tests.integration.metering.support import report
from tests.integration.prices.books import HOUR_MS, TEN, Books

HOUR = timedelta(hours=1)
MICRO = 10**6  # places of money: 6

Row = dict[str, Any]


def set_up(rate: str, more: str = "") -> str:
    return f"""
billing: {{currency: EUR, timezone: UTC}}
teams: [{{slug: a, name: A}}, {{slug: b, name: B}}, {{slug: c, name: C}}]
bindings:
  - {{namespace: a, team: a}}
  - {{namespace: b, team: b}}
  - {{namespace: c, team: c}}
prices:
  - {{model: NVIDIA-L40S, rate_per_gpu_hour: "{rate}"}}
{more}
"""


def charges(rows: list[Row], name: str = "charge") -> Decimal:
    return sum((Decimal(row[name]) for row in rows), Decimal(0))


def exact(milliseconds: int, rate: str) -> Decimal:
    """ms x rate / 3,600,000, rounded half-even once to 6 places."""
    micro = round(Fraction(rate) * milliseconds * MICRO / HOUR_MS)
    return Decimal(micro) / MICRO


def test_thirds_sum_and_the_smaller_key_takes_the_rest(books: Books) -> None:
    """Three teams hold 1/3 h each at 0.000001: 1 micro-unit for three equal lines."""
    books.configure(set_up("0.000001"))
    gpu = books.gpu()
    for n, name in enumerate("abc"):
        start = TEN + n * HOUR / 3
        books.hours(gpu, start, start + HOUR / 3, books.pod(name, space=name))
    books.settle()
    rows = report("usage", by="team")
    assert [row["charge"] for row in rows] == ["0.000001", "0.000000", "0.000000"]
    [total] = report("usage", by="")
    assert total["charge"] == "0.000001"


def test_the_largest_remainder_takes_the_rest(books: Books) -> None:
    """b has 600,001 ms, a and c less: of 1 micro-unit and three lines b gets it."""
    books.configure(set_up("0.000002"))
    gpus = [books.gpu(f"GPU-{n}") for n in range(3)]
    for gpu, name, ms in zip(gpus, "abc", (299_999, 300_000, 299_999), strict=True):
        for n in range(2):
            at = TEN + n * timedelta(minutes=5)
            books.write(gpu, at, books.pod(f"{name}{n}", space=name), busy=ms)
    books.settle()
    # 1,799,996 ms x 0.000002 / 3,600,000 = 0.99999 micro-units: 1
    rows = report("usage", by="team")
    assert [row["charge"] for row in rows] == ["0.000000", "0.000001", "0.000000"]


@pytest.mark.parametrize("rate", ["0.333333", "1.999999", "2.1", "0.000001", "999999"])
def test_rows_states_and_totals_sum_at_any_grouping(books: Books, rate: str) -> None:
    books.configure(set_up(rate))
    gpus = [books.gpu(f"GPU-{n}") for n in range(4)]
    pods = [books.pod(name, space=name) for name in "abc"]
    held = wall = 0
    with books.together():
        for n in range(24):
            at = TEN + n * timedelta(minutes=5)
            for g, gpu in enumerate(gpus):
                busy, idle, unknown = 70_003 + 7 * n, 50_001 * g, 13 + n * g
                rest = 300_000 - busy - idle - unknown
                books.write(
                    gpu, at, pods[(n + g) % 3], busy=busy, idle=idle, unknown=unknown
                )
                books.write(gpu, at, free=rest - 11, stray=7, dark=3, stranded=1)
                held, wall = held + 300_000 - rest, wall + 300_000
    books.settle()
    assert_sums("usage", held, exact(held, rate))
    assert_sums("ledger", wall, exact(wall, rate))


def assert_sums(kind: str, milliseconds: int, total: Decimal) -> None:
    """Every grouping of a report has the same total, to the last place."""
    money, time = (
        ("charge", "allocated_ms") if kind == "usage" else ("wall_charge", "wall_ms")
    )
    groupings = ["", "hour", "gpu", "node", "cluster", "day", "model", "lifecycle"]
    groupings += ["gpu,hour", "hour,node,model"]
    groupings += ["team", "pod", "team,hour", "namespace"] if kind == "usage" else []
    for by in groupings:
        rows = report(kind, by=by)
        assert sum(row[time] for row in rows) == milliseconds, by
        assert charges(rows, money) == total, by
        if kind == "ledger":
            for row in rows:
                cells = [Decimal(row[f"{state}_charge"]) for state in STATES]
                assert sum(cells) == Decimal(row["wall_charge"])


def test_a_cell_is_never_off_by_a_unit_or_more(books: Books) -> None:
    """Each cell is its exact amount rounded up or down, never further."""
    books.configure(set_up("1.234567"))
    gpu = books.gpu()
    for n in range(12):
        at = TEN + n * timedelta(minutes=5)
        books.write(gpu, at, busy=0, free=299_000 + n, dark=1_000 - n)
    books.settle()
    for row in report("ledger", by="hour"):
        for state in STATES:
            amount = Fraction("1.234567") * row[f"{state}_ms"] / HOUR_MS
            shown = Fraction(row[f"{state}_charge"])
            assert abs(shown - amount) < Fraction(1, MICRO)


def test_halves_are_rounded_to_even_once_on_the_total(books: Books) -> None:
    """900,000 ms at 0.000002 is half a micro-unit: 0; 2,700,000 ms is 1.5 of them: 2."""
    books.configure(set_up("0.000002"))
    gpu, pod = books.gpu(), books.pod("a", space="a")
    books.hours(gpu, TEN, TEN + timedelta(minutes=15), pod)
    books.hours(gpu, TEN + HOUR, TEN + HOUR + timedelta(minutes=45), pod)
    books.settle()
    start, middle = TEN.isoformat(), (TEN + HOUR).isoformat()
    [first] = report("usage", **{"from": start, "to": middle})
    [second] = report("usage", **{"from": middle})
    assert (first["charge"], second["charge"]) == ("0.000000", "0.000002")
    assert report("usage")[0]["charge"] == "0.000002"  # 2.0 of them, exactly


def test_nothing_is_rounded_before_the_total(books: Books) -> None:
    """A thousand lines of 0.0833 micro-units each are 83 of them, not none."""
    books.configure(set_up("0.000001"))
    pods = [books.pod(f"pod-{n}", space="a") for n in range(100)]
    with books.together():
        for n in range(10):
            gpu = books.gpu(f"GPU-{n}")
            for m in range(10):
                at = TEN + m * timedelta(minutes=5)
                books.write(gpu, at, pods[n * 10 + m], busy=300_000)
    books.settle()
    rows = report("usage", by="pod")
    assert len(rows) == 100
    assert charges(rows) == Decimal("0.000008")  # 100 / 12 = 8.33
    assert report("usage", by="")[0]["charge"] == "0.000008"


def test_idle_is_a_part_of_the_charge(books: Books) -> None:
    books.configure(set_up("3"))
    pod = books.pod("a", space="a")
    books.write(books.gpu(), TEN, pod, busy=100_000, idle=120_000, unknown=80_000)
    books.settle()
    [row] = report("usage")
    assert row["charge"] == "0.250000"  # 300,000 ms at 3
    assert row["idle_charge"] == "0.100000"  # 120,000 ms at 3


def test_usage_and_the_platforms_line_are_the_price_of_the_fleet(books: Books) -> None:
    """N29: what teams pay, and free + stranded + stray + dark, is wall time x rate."""
    books.configure(set_up("0.777777"))
    gpu = books.gpu()
    for n, name in enumerate("abc"):
        at = TEN + n * timedelta(minutes=5)
        pod = books.pod(name, space=name)
        books.write(gpu, at, pod, busy=90_001, idle=33_333, unknown=1)
        books.write(gpu, at, free=100_000, stranded=50_000, stray=26_664, dark=1)
    books.settle()
    [ledger] = report("ledger")
    assert Decimal(ledger["wall_charge"]) == exact(900_000, "0.777777")
    platform = ("free", "stranded", "stray", "dark")
    assert sum(ledger[f"{state}_ms"] for state in platform) == 3 * 176_665
    [usage] = report("usage", by="")
    assert usage["allocated_ms"] == 3 * 123_335
    assert Decimal(usage["charge"]) == exact(3 * 123_335, "0.777777")
    held = sum(Decimal(ledger[f"{s}_charge"]) for s in ("busy", "idle", "unknown"))
    # two lists, each rounded on its own total: they differ by less than a unit a cell
    assert abs(held - Decimal(usage["charge"])) < 3 * Decimal("0.000001")


def test_held_time_without_a_team_is_a_line_of_its_own(books: Books) -> None:
    books.configure(set_up("2"))
    books.hours(books.gpu(), TEN, TEN + HOUR, books.pod("x", space="elsewhere"))
    books.settle()
    [row] = report("usage", by="team")
    assert (row["team"], row["charge"]) == ("unmapped", "2.000000")
    [issue] = report("issues")
    assert (issue["code"], issue["subject"]) == ("unmapped_namespace", "elsewhere")
    assert issue["at_stake_ms"] == HOUR_MS


def test_rows_of_priced_and_unpriced_time_are_one_row_in_all_they_measure(
    books: Books,
) -> None:
    """The parts come from two rows of the database: every field is that of both."""
    books.configure(set_up("2"))
    pod = books.pod("a", space="a")
    priced, other = books.gpu("GPU-1"), books.gpu("GPU-2", model="NVIDIA-A10")
    books.write(priced, TEN, pod, busy=200_000, energy_mj=5_000, peak_memory_bytes=7)
    books.write(
        *(other, TEN, pod),
        idle=100_000,
        flags=1,
        energy_mj=2_500,
        peak_memory_bytes=9,
    )
    books.settle()
    [row] = report("usage", by="team")
    assert (row["busy_ms"], row["idle_ms"]) == (200_000, 100_000)
    assert row["energy_joules"] == 7.5
    assert row["peak_memory_bytes"] == 9
    assert row["estimated"] is True
    assert row["charge"] == "0.111111"  # 200 s at 2 an hour
    assert row["unpriced_gpu_hours"] == "0.027778"


def test_a_field_that_one_part_has_not_measured_is_that_of_the_other(
    books: Books,
) -> None:
    books.configure(set_up("2"))
    pod = books.pod("a", space="a")
    books.write(books.gpu("GPU-1"), TEN, pod, busy=1, energy_mj=5_000)
    other = books.gpu("GPU-2", model="NVIDIA-A10")
    books.write(other, TEN, pod, busy=1, peak_memory_bytes=9)
    books.settle()
    [row] = report("usage", by="team")
    assert (row["energy_joules"], row["peak_memory_bytes"]) == (5.0, 9)


def test_money_of_two_currencies_has_no_sum(books: Books) -> None:
    books.configure(set_up("2"))
    gpu, pod = books.gpu(), books.pod("a", space="a")
    books.hours(gpu, TEN, TEN + HOUR, pod)
    UnitPrice.objects.update(valid_to=TEN + HOUR / 2)
    UnitPrice.objects.create(
        model="NVIDIA-L40S",
        currency="USD",
        rate_per_gpu_hour=Decimal(3),
        valid_from=TEN + HOUR / 2,
    )
    books.settle()
    for by in ("team", ""):
        [row] = report("usage", by=by)
        assert row["allocated_ms"] == HOUR_MS
        assert row["charge"] is None
    for by in ("cluster", ""):
        [row] = report("ledger", by=by)
        assert row["wall_charge"] is None
