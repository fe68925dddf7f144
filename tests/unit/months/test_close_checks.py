"""What blocks a close, from which value on, and how long an override holds (money.md M27).

Not here: how the values are found (`tests/integration/months/test_checks.py`).
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounting.months.rules import close_checks
from accounting.months.rules.close_checks import (
    REASON_LENGTHS,
    RULES,
    Cause,
    CloseCheck,
    Level,
    Override,
    Unit,
)
from tests.unit.anew import built_anew

REQUESTED = datetime(2026, 11, 4, 9, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def test_the_checks_of_the_rule_block_or_warn() -> None:
    """The table of M27 in its order, then the warnings: level, and whether people may override."""
    rules = built_anew(close_checks).RULES
    blocks, yes = "block", True
    expected = {
        "over": (blocks, False),
        "settled": (blocks, yes),
        "order": (blocks, False),
        "windows": (blocks, yes),
        "hours": (blocks, False),
        "conservation": (blocks, False),
        "coverage": (blocks, yes),
        "unpriced": (blocks, yes),
        "unconverted": (blocks, yes),
        "unmapped": (blocks, yes),
        "entries": (blocks, yes),
        "without_gpus": (blocks, yes),
        "never_sampled": (blocks, yes),
    } | dict.fromkeys(
        (
            *("unmapped_any", "team_coverage", "dark", "estimated", "contests"),
            *("bills", "moved"),
        ),
        ("warning", False),
    )
    found = {
        code: (str(rule.fails_as), rule.is_overridable) for code, rule in rules.items()
    }
    assert list(found) == list(expected)
    assert found == expected
    assert all(rule.code == code for code, rule in rules.items())


@pytest.mark.parametrize(
    ("code", "unit", "passes", "fails"),
    [
        ("over", "hours", "0", "0.0001"),
        ("settled", "hours", "72", "71.9999"),
        ("order", "count", "0", "1"),
        ("windows", "count", "0", "1"),
        ("hours", "count", "0", "1"),
        ("conservation", "count", "0", "1"),
        ("coverage", "share", "0.99", "0.9899"),
        ("unpriced", "ms", "0", "1"),
        ("unconverted", "ms", "0", "1"),
        ("unmapped", "share", "0.01", "0.0101"),
        ("entries", "count", "0", "1"),
        ("without_gpus", "ms", "0", "1"),
        ("never_sampled", "ms", "0", "1"),
        ("unmapped_any", "ms", "0", "1"),
        ("team_coverage", "share", "0.95", "0.9499"),
        ("dark", "share", "0.01", "0.0101"),
        ("estimated", "share", "0.10", "0.1001"),
        ("contests", "count", "0", "1"),
        ("bills", "count", "0", "1"),
        ("moved", "share", "0.30", "0.3001"),
    ],
)
def test_a_value_at_the_threshold_passes(
    code: str, unit: str, passes: str, fails: str
) -> None:
    rule = built_anew(close_checks).RULES[code]
    assert str(rule.unit) == unit
    assert rule.threshold == Decimal(passes)
    assert not rule.fails(Decimal(passes))
    assert rule.fails(Decimal(fails))


def test_a_reason_has_10_to_200_characters() -> None:
    allowed = [length in REASON_LENGTHS for length in (9, 10, 200, 201)]
    assert allowed == [False, True, True, False]


def override(code: str = "coverage", **more: object) -> Override:
    values: dict[str, object] = {
        "id": 7,
        "code": code,
        "reason": "the node was replaced",
        "requested_by": "finance",
        "requested_at": REQUESTED,
        "seen": {"north": Decimal("0.989")},
    }
    return Override(**(values | more))  # type: ignore[arg-type]  # of several types


CONFIRMED = override(confirmed_by="admin", confirmed_at=REQUESTED + timedelta(hours=1))


def test_an_override_can_be_confirmed_for_24_hours() -> None:
    end = REQUESTED + timedelta(hours=24)
    assert override().is_open(end - MILLISECOND)
    assert not override().is_open(end)
    assert CONFIRMED.is_open(end + timedelta(days=30))
    assert (override().is_confirmed, CONFIRMED.is_confirmed) == (False, True)


@pytest.mark.parametrize(
    ("causes", "covered"),
    [
        ({}, True),
        ({"north": "0.989"}, True),
        ({"north": "0.9895"}, True),
        ({"north": "0.988"}, False),  # the example of M27
        ({"south": "0.989"}, False),
        ({"north": "0.989", "south": "0.989"}, False),
    ],
)
def test_an_override_is_for_the_values_that_were_seen(
    causes: dict[str, str], covered: bool
) -> None:
    found = [Cause(subject, Decimal(value)) for subject, value in causes.items()]
    assert override().covers(found) is covered


@pytest.mark.parametrize(("value", "covered"), [(99, True), (100, True), (101, False)])
def test_more_time_without_a_price_asks_again(value: int, covered: bool) -> None:
    one = override("unpriced", seen={"NVIDIA-L4": Decimal(100), "A100": Decimal(5)})
    causes = [Cause("A100", Decimal(5)), Cause("NVIDIA-L4", Decimal(value))]
    assert one.covers(causes) is covered


def check(level: Level = Level.BLOCK, one: Override | None = None) -> CloseCheck:
    return CloseCheck(
        code="coverage",
        level=level,
        is_overridable=True,
        value=Decimal("0.9890"),
        threshold=RULES["coverage"].threshold,
        unit=Unit.SHARE,
        message="98.9% of the held time of north was observed.",
        link="/data-health",
        causes=(Cause("north", Decimal("0.9890")), Cause("south", Decimal("0.9895"))),
        override=one,
    )


@pytest.mark.parametrize(
    ("level", "one", "is_blocking"),
    [
        (Level.BLOCK, None, True),
        (Level.BLOCK, override(), True),
        (Level.BLOCK, CONFIRMED, False),
        (Level.WARNING, None, False),
        (Level.PASSED, None, False),
    ],
)
def test_a_check_blocks_until_a_second_person_confirms(
    level: Level, one: Override | None, is_blocking: bool
) -> None:
    found = check(level, one)
    assert found.is_blocking is is_blocking
    assert found.is_overridden is (one is CONFIRMED)


def test_values_are_written_with_six_places_and_not_less_bad() -> None:
    """A share just below its threshold does not look as if it had passed."""
    cause = Cause("north", Decimal("0.98999999999"))
    found = replace(check(), value=cause.value, causes=(cause,)).fields()
    assert (found["value"], found["causes"][0]["value"]) == ("0.989999", "0.989999")
    late = replace(check(), code="over", value=Decimal("645.4021547222222222"))
    assert late.fields()["value"] == "645.402155"


def test_a_check_is_written_as_json() -> None:
    expected = {
        "code": "coverage",
        "level": "block",
        "is_overridable": True,
        "value": "0.989",
        "threshold": "0.99",
        "unit": "share",
        "message": "98.9% of the held time of north was observed.",
        "link": "/data-health",
        "causes": [
            {"subject": "north", "value": "0.989"},
            {"subject": "south", "value": "0.9895"},
        ],
        "override": None,
    }
    assert check().fields() == expected
    assert {type(check().fields()[name]) for name in ("level", "unit")} == {str}
    asked = {
        "id": 7,
        "reason": "the node was replaced",
        "requested_by": "finance",
        "requested_at": "2026-11-04T09:00:00+00:00",
        "confirmed_by": "",
        "confirmed_at": None,
    }
    assert check(one=override()).fields() == expected | {"override": asked}
    confirmed = asked | {
        "confirmed_by": "admin",
        "confirmed_at": "2026-11-04T10:00:00+00:00",
    }
    assert check(one=CONFIRMED).fields() == expected | {"override": confirmed}
