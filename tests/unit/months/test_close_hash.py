"""Texts and ids of lines, and the hash of a close, by hand (money.md M9, M12, M29).

The two lines and the hash are those of golden case 09 of the money rules. Not here: the same texts
in SQL (`tests/integration/months/test_sql_twins.py`).
"""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from accounting.months.rules.close_hash import (
    CloseHeader,
    Line,
    close_hash,
    line_id,
    line_text,
)

USAGE = Line(
    kind="usage",
    team="vision",
    billing_on=date(2026, 10, 5),
    cluster="north",
    namespace="ml",
    workload_kind="Job",
    workload="train",
    workload_type="training",
    model="NVIDIA-H100-80GB-HBM3",
    profile="",
    lifecycle="on-demand",
    tier="",
    state="busy",
    price_currency="EUR",
    rate=Decimal("1.000000"),
    fx=Decimal("1.0000000000"),
    ms=378_000,
    raw=Decimal(378_000),
    charge=Decimal("0.105"),
    status="priced",
    corrects="",
    reference="",
)
EMPTY = dict.fromkeys(
    (
        *("cluster", "namespace", "workload_kind", "workload", "workload_type"),
        *("model", "profile", "lifecycle", "tier", "state", "price_currency"),
    ),
    "",
)
ROUNDING = replace(
    USAGE,
    **EMPTY,
    kind="rounding",
    billing_on=None,
    rate=None,
    fx=None,
    ms=0,
    raw=None,
    charge=Decimal("-0.005"),
)
HEADER = CloseHeader(
    period="2026-10",
    revision=1,
    starts_at=datetime(2026, 9, 30, 22, tzinfo=UTC),
    ends_at=datetime(2026, 10, 31, 23, tzinfo=UTC),
    timezone="Europe/Berlin",
    currency="EUR",
    minor_places=2,
    method="alloc-v1",
    line_count=2,
    payable=Decimal("0.1"),
    previous="",
)
BUSY_TEXT = (
    '["usage","vision","2026-10-05","north","ml","Job","train","training",'
    '"NVIDIA-H100-80GB-HBM3","","on-demand","","busy","EUR","1","1","378000","378000",'
    '"0.105000","priced","",""]'
)
ROUNDING_TEXT = (
    '["rounding","vision","","","","","","","","","","","","","","","0",null,'
    '"-0.005000","priced","",""]'
)


def test_a_line_is_an_array_of_its_22_fields() -> None:
    assert line_text(USAGE) == BUSY_TEXT
    assert line_text(ROUNDING) == ROUNDING_TEXT


def test_the_close_of_the_golden_case_has_its_hash() -> None:
    found = close_hash(HEADER, [ROUNDING_TEXT, BUSY_TEXT])
    expected = "c1032f2ecb4f8614011622cc12ac09ce2485ec0dea6774347ee7bd4a8286d4a0"
    assert found == expected
    assert close_hash(HEADER, [BUSY_TEXT, ROUNDING_TEXT]) != expected


@pytest.mark.usefixtures("in_tokyo")
def test_a_header_is_an_array_of_texts() -> None:
    assert HEADER.text() == (
        '["gpu-ledger-close-v1","2026-10","1","2026-09-30T22:00:00Z","2026-10-31T23:00:00Z",'
        '"Europe/Berlin","EUR","2","alloc-v1","2","0.10",""]'
    )
    berlin = ZoneInfo("Europe/Berlin")
    local = replace(HEADER, starts_at=HEADER.starts_at.astimezone(berlin))
    assert local.text() == HEADER.text()


@pytest.mark.parametrize(
    ("places", "payable", "written"),
    [(0, "1200", '"1200"'), (2, "-0.5", '"-0.50"'), (3, "1E+3", '"1000.000"')],
)
def test_a_payable_has_the_places_of_its_currency(
    places: int, payable: str, written: str
) -> None:
    header = replace(HEADER, minor_places=places, payable=Decimal(payable))
    assert header.text().split(",")[-2] == written


def test_the_line_of_the_golden_case_has_its_id() -> None:
    """M12: the first 32 digits of the hash of period, revision, key and what it corrects."""
    assert line_id(USAGE, "2026-10", 1) == "4155f756000ec2187afb4e8ee8d85123"


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "platform"},
        {"team": "research"},
        {"billing_on": date(2026, 10, 6)},
        {"tier": "low"},
        {"profile": "1g.10gb"},
        {"rate": Decimal("1.000001")},
        {"status": "unconverted"},
        {"corrects": "2026-09-r1"},
        {"reference": "E-1"},
    ],
)
def test_an_id_names_the_key_and_what_the_line_corrects(
    change: dict[str, object],
) -> None:
    changed = replace(USAGE, **change)  # type: ignore[arg-type]  # of several types
    assert line_id(changed, "2026-10", 1) != line_id(USAGE, "2026-10", 1)


def test_an_id_is_of_one_revision_and_not_of_its_amounts() -> None:
    amounts = replace(
        USAGE, ms=1, fx=Decimal("0.5"), raw=Decimal("0.5"), charge=Decimal(0)
    )
    assert line_id(amounts, "2026-10", 1) == line_id(USAGE, "2026-10", 1)
    ids = {
        line_id(USAGE, *of) for of in (("2026-10", 1), ("2026-10", 2), ("2026-11", 1))
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("2.10", "2.1"),
        ("100", "100"),
        ("100.50", "100.5"),
        ("0.000000", "0"),
        ("1E+3", "1000"),
        ("1E-10", "0.0000000001"),
        ("-3.40", "-3.4"),
    ],
)
def test_a_number_has_no_trailing_zeros_and_no_exponent(
    number: str, written: str
) -> None:
    """M29: rate, conversion and raw amount."""
    value = Decimal(number)
    fields = line_text(replace(USAGE, rate=value, fx=value, raw=value)).split(",")
    assert (fields[14], fields[15], fields[17]) == (f'"{written}"',) * 3


def test_time_without_a_price_has_no_amounts() -> None:
    line = replace(USAGE, rate=None, fx=None, raw=None, charge=None, status="unpriced")
    assert line_text(line).endswith('"EUR","","","378000",null,null,"unpriced","",""]')


def test_letters_are_not_escaped() -> None:
    """RFC 8785: UTF-8; only quotes, backslashes and control characters are escaped."""
    text = line_text(replace(USAGE, team="größe", workload='a"b\\c'))
    assert text.startswith(
        r'["usage","größe","2026-10-05","north","ml","Job","a\"b\\c"'
    )
    assert close_hash(HEADER, [text]) == close_hash(HEADER, [text])
