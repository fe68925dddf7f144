"""Which days are anomalies, and what they name, by hand (M40)."""

import json
from datetime import date
from decimal import Decimal
from math import ceil
from random import Random

import pytest

from accounting.budgets.rules.anomalies import check_day, driver, margin
from accounting.budgets.rules.forecast import MICROS, NotEnoughHistory, units_of
from accounting.core.billing_calendar import DAY
from tests import shared_data

DAYS = [date(2026, 6, 1) + n * DAY for n in range(28)]
DAY_29 = date(2026, 6, 29)


def history(usual: int, actual: Decimal | int) -> dict[date, int]:
    """28 equal days and one more."""
    of_day = int(actual * MICROS)
    return dict.fromkeys(DAYS, usual * MICROS) | {DAY_29: of_day}


def is_anomaly(usual: int, actual: Decimal | int, minimum: int = 50) -> bool:
    return check_day(history(usual, actual), DAY_29, minimum * MICROS).is_anomaly


def test_the_golden_case() -> None:
    path = shared_data.DATA / "money" / "12-anomaly.json"
    if not path.exists():
        pytest.skip(shared_data.missing("money/12-anomaly.json"))
    case = json.loads(path.read_text())
    one = case["input"]
    days = {
        date.fromisoformat(day): int(Decimal(amount) * MICROS)
        for day, amount in one["days"].items()
    }
    found = check_day(
        days, date.fromisoformat(one["day"]), int(Decimal(one["minimum"]) * MICROS)
    )
    assert case["expected"] == {
        "status": "ok",
        "expected": str(units_of(found.expected)),
        "flagged": found.is_anomaly,
    }


def test_the_minimum_counts_from_its_own_value_on() -> None:
    assert is_anomaly(100, 150)
    assert not is_anomaly(100, Decimal("149.999999"))
    assert is_anomaly(100, Decimal("149.999999"), minimum=49)


def test_a_quarter_of_the_expected_is_enough_and_less_is_not() -> None:
    assert is_anomaly(400, 500)
    assert not is_anomaly(400, Decimal("499.999999"))


def test_lower_days_are_anomalies_too() -> None:
    assert is_anomaly(200, 0)
    assert check_day(history(200, 0), DAY_29).difference == -200 * MICROS


def test_a_day_as_expected_is_none_even_without_a_minimum() -> None:
    assert not is_anomaly(0, 0, minimum=0)
    assert is_anomaly(0, Decimal("0.000001"), minimum=0)


def test_a_day_within_four_mean_errors_is_none() -> None:
    """Weeks that alternate by 40 around 220: each day differs by 40 from the other two."""
    days = {day: (200 + n // 7 % 2 * 40) * MICROS for n, day in enumerate(DAYS)}
    # 220 is expected; each day has one equal and two others: the mean error is 40
    assert not check_day(days | {DAY_29: (220 + 159) * MICROS}, DAY_29).is_anomaly
    assert check_day(days | {DAY_29: (220 + 160) * MICROS}, DAY_29).is_anomaly


def test_later_days_do_not_count() -> None:
    later = {DAY_29 + DAY: 10**12}
    assert check_day(history(200, 250) | later, DAY_29) == check_day(
        history(200, 250), DAY_29
    )


def test_thirteen_days_are_not_enough() -> None:
    few = {day: amount for day, amount in history(200, 900).items() if day > DAYS[14]}
    with pytest.raises(NotEnoughHistory):
        check_day(few, DAY_29)


def test_the_driver_has_the_largest_difference_of_its_own() -> None:
    days = history(200, 300)
    steady = dict.fromkeys([*DAYS, DAY_29], 150)
    parts = {
        ("H100", "vision", "train"): steady,
        ("H100", "vision", "sweep"): {DAY_29: 90},
        ("L40S", "search", "index"): dict.fromkeys(DAYS, 100),  # absent on the day: 0
    }
    assert driver(parts, days, DAY_29) == ("L40S", "search", "index")


def test_a_part_is_compared_with_the_days_before_the_anomaly() -> None:
    """With its own Monday of 200, the Mondays of the first would have a median of 100."""
    mondays = {DAYS[0]: 0, DAYS[7]: 0, DAYS[14]: 100, DAYS[21]: 100}
    parts = {
        ("H100", "vision", "train"): mondays | {DAY_29: 200},  # 150 more than 50
        ("H100", "vision", "sweep"): {DAY_29: 120},
    }
    assert driver(parts, history(200, 320), DAY_29) == ("H100", "vision", "train")


def test_of_equal_parts_the_first_key_by_bytes_is_named() -> None:
    days = history(200, 300)
    parts = {(name, "", ""): {DAY_29: 50} for name in ("é", "z", "a", "Z")}
    assert driver(parts, days, DAY_29) == ("Z", "", "")
    assert driver({}, days, DAY_29) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_day_is_an_anomaly_from_its_margin_on(seed: int) -> None:
    random = Random(seed)
    days = {day: random.randrange(0, 900) * MICROS for day in DAYS}
    days[DAY_29] = 0
    usual = check_day(days, DAY_29, 50 * MICROS).expected
    least = ceil(margin(days, DAY_29, 50 * MICROS))
    for apart, is_anomaly in ((least - 1, False), (least, True)):
        for sign in (1, -1):
            found = check_day(
                days | {DAY_29: usual + sign * apart}, DAY_29, 50 * MICROS
            )
            assert found.is_anomaly is is_anomaly
