"""Rules over values and their SQL give the same texts and shares (money.md M2, M3, M12, M29)."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from django.db import connection

from accounting.core.charge_lines import FIELDS
from accounting.core.rounding import largest_remainder
from accounting.metering.sql import largest_remainder_sql
from accounting.months.rules.close_hash import Line, line_id, line_text
from accounting.months.sql import line_text_sql

pytestmark = pytest.mark.django_db
NAMES = ('say "hi"\\', "tab\tline\n\x01\x7f", "ü 漢 😀", "</script>", "", "a/b")
NUMBERS = ("2.100000", "0.0000010000", "0", "-378000.5000", "1E+3")


def line(random: Random) -> Line:
    texts = iter(random.choices(NAMES, k=20))
    numbers = [random.choice([None, *map(Decimal, NUMBERS)]) for _ in range(4)]
    values: dict[str, Any] = {name: next(texts) for name in FIELDS if name in _TEXTS}
    values |= {
        "billing_on": random.choice([None, date(2026, 10, 5)]),
        "ms": random.randrange(-(10**12), 10**12),
    }
    values |= dict(zip(("rate", "fx", "raw", "charge"), numbers, strict=True))
    return Line(**values)


_TEXTS = set(FIELDS) - {"billing_on", "rate", "fx", "ms", "raw", "charge"}
_TYPES = {
    "billing_on": "date",
    "rate": "numeric(12, 6)",
    "fx": "numeric(20, 10)",
    "ms": "bigint",
    "raw": "numeric(38, 16)",
    "charge": "numeric(26, 6)",
}


def test_texts_and_ids_of_lines_are_the_same_in_sql() -> None:
    random = Random(7)
    columns = ", ".join(
        f"%({name})s::{_TYPES.get(name, 'text')} AS {name}" for name in FIELDS
    )
    texts = line_text_sql.line_text("l"), line_text_sql.line_id("l")
    query = f"SELECT {', '.join(texts)} FROM (SELECT {columns}) l"  # noqa: S608  # our own
    for _ in range(200):
        one = line(random)
        values = {name: getattr(one, name) for name in FIELDS}
        with connection.cursor() as cursor:
            cursor.execute(query, values | {"period": "2026-10", "revision": 2})
            found = cursor.fetchone()
        assert found == (line_text(one), line_id(one, "2026-10", 2))


def test_half_to_even_is_the_same_in_sql_on_both_sides_of_zero() -> None:
    values = [Decimal(n) / 4 for n in range(-41, 42)]
    rounded = largest_remainder_sql.half_even("v", "0.5::numeric")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {rounded}"  # noqa: S608  # our own
            " FROM unnest(%s::numeric[]) WITH ORDINALITY AS u(v, n) ORDER BY n",
            [values],
        )
        found = [int(row[0]) for row in cursor.fetchall()]
    assert found == [round(Fraction(value) * 2) for value in values]


def test_shares_are_the_same_in_sql_for_negatives_ties_and_given_totals() -> None:
    random = Random(3)
    lists = [
        [
            (f"{random.choice('aBé~')}{n}", random.randrange(-30, 30))
            for n in range(random.randrange(1, 9))
        ]
        for _ in range(3_000)
    ]
    unit = 6
    totals = [
        sum(number for _, number in one) // unit + random.randrange(-9, 9)
        for one in lists
    ]
    rows = [
        (n, key, number, totals[n])
        for n, one in enumerate(lists)
        for key, number in one
    ]
    random.shuffle(rows)
    shares = largest_remainder_sql.largest_remainder(
        "given", "number", f"{unit}::numeric", "total", "list", ["key"]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH given AS (
                    SELECT * FROM unnest(%s::int[], %s::text[], %s::numeric[], %s::numeric[])
                        AS g(list, key, number, total)
                )
                SELECT list, key, share FROM ({shares}) s""",  # noqa: S608  # our own
            [list(column) for column in zip(*rows, strict=True)],
        )
        found = {(row[0], row[1]): int(row[2]) for row in cursor.fetchall()}
    for n, one in enumerate(lists):
        ordered = sorted(one, key=lambda item: item[0].encode())
        expected = largest_remainder(ordered, unit, totals[n], is_given=True)
        assert {key: found[n, key] for key, _ in one} == expected
