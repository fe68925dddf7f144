"""Largest remainder in SQL shares random lists as the reference does (docs/money.md, M3).

`make test` takes 10,000 lists in one statement; MONEY_SPLITS=100000 takes more.
"""

import os
from fractions import Fraction
from random import Random

import pytest
from django.db import connection

from accounting.metering.sql.largest_remainder_sql import largest_remainder, row_shares
from tests.oracle.money import exact

pytestmark = pytest.mark.django_db
COUNT = int(os.environ.get("MONEY_SPLITS") or 10_000)
UNIT = 6  # few rests, so that ties are common
FIRST, SECOND = ("", "a", "B", "é", "～"), ("", "a", "ab", "~", "😀")
Split = tuple[dict[tuple[str, ...], int], int]


def split(random: Random) -> Split:
    """Amounts by a key of two fields, in sixths of a unit, and a total beside their sum."""
    keys = {
        (random.choice(FIRST), random.choice(SECOND))
        for _ in range(random.randrange(1, 7))
    }
    size = random.choice([3, 40, 10**20])
    amounts: dict[tuple[str, ...], int]
    amounts = {key: random.randrange(-size, size) for key in sorted(keys)}
    return amounts, sum(amounts.values()) // UNIT + random.randrange(-9, 9)


SHARES = {
    "with_columns": largest_remainder(
        "given", "number", f"{UNIT}::numeric", "total", "list", ["one", "two"]
    ),
    "of_rows": f"""SELECT g.*, share FROM given g JOIN ({
        row_shares(
            "given",
            "true",
            number="l.number",
            unit=f"{UNIT}::numeric",
            total="max(l.total)",
            within="l.list",
            key=["l.one", "l.two"],
        )
    }) shared ON shared.row_at = g.ctid""",  # noqa: S608  # our own
}


@pytest.mark.parametrize("way", SHARES)
def test_random_splits_and_ties_are_shared_in_sql_as_by_the_reference(way: str) -> None:
    random = Random(13)
    splits = [split(random) for _ in range(COUNT)]
    rows = [
        (n, *key, amount, total)
        for n, (amounts, total) in enumerate(splits)
        for key, amount in amounts.items()
    ]
    random.shuffle(rows)
    with connection.cursor() as cursor:
        cursor.execute(
            """CREATE TEMPORARY TABLE given ON COMMIT DROP AS
                SELECT * FROM unnest(%s::int[], %s::text[], %s::text[], %s::numeric[],
                    %s::numeric[]) AS g(list, one, two, number, total)""",
            [list(column) for column in zip(*rows, strict=True)],
        )
        cursor.execute("ANALYZE given")
        cursor.execute(f"SELECT list, one, two, share FROM ({SHARES[way]}) s")  # noqa: S608
        found = {(n, one, two): int(share) for n, one, two, share in cursor.fetchall()}
    assert len(found) == len(rows)
    for n, (amounts, total) in enumerate(splits):
        units = {key: Fraction(amount, UNIT) for key, amount in amounts.items()}
        expected = exact.largest_remainder(units, total)
        assert {key: found[n, key[0], key[1]] for key in amounts} == expected, amounts
