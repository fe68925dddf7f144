"""The upgrade that makes a rate and a cost of each price (migrations 0012 to 0014).

On a database of its own, migrated from nothing to just before it. Not here: which costs apply
(`test_price_book.py`).
"""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

from tests.story_database import connected_to

BEFORE, AFTER = "0012_price_lists", "0014_costs_are_prices"
NAME = "test_split_prices"
OLD = """
INSERT INTO accounting_unitprice (model, profile, lifecycle, tier, currency,
    rate_per_gpu_hour, cost_per_gpu_hour, valid_from, valid_to, source_note, kind)
VALUES
    ('A', '', '', '', 'EUR', 2.1, 1.5, '2026-01-01Z', '2026-06-01Z', 'List 1', 'rate'),
    ('A', '', '', '', 'EUR', 2.2, NULL, '2026-06-01Z', NULL, 'List 2', 'rate'),
    ('A', '', 'spot', '', 'USD', 1, 0, '2026-01-01Z', NULL, '', 'rate'),
    ('A', '1g.10gb', '', '', 'EUR', 3, 2, '2026-01-01Z', NULL, '', 'rate'),
    ('B', '', '', 'low', 'EUR', 4, 2, '2026-01-01Z', NULL, '', 'rate')
"""
NEW = """
SELECT p.kind, l.name, p.model, p.profile, p.lifecycle, p.tier, p.currency,
       trim_scale(p.rate_per_gpu_hour)::text, to_char(p.valid_from AT TIME ZONE 'UTC', 'MM-DD'),
       to_char(p.valid_to AT TIME ZONE 'UTC', 'MM-DD'), p.source_note
FROM accounting_unitprice p JOIN accounting_pricelist l ON l.id = p.price_list_id
    AND l.kind = p.kind AND l.currency = p.currency
ORDER BY p.kind DESC, p.model, p.profile, p.lifecycle, p.valid_from
"""


@pytest.fixture
def empty_database(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """A database without tables, behind Django's connection."""
    del django_db_setup
    with django_db_blocker.unblock():
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
            cursor.execute(f"CREATE DATABASE {NAME}")
        try:
            with connected_to(NAME):
                yield
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("accounting", name)])


def test_prices_become_rates_and_costs_of_the_same_amounts(
    empty_database: None,
) -> None:
    """The cost of a price with a profile or a tier was never used."""
    del empty_database
    migrate(BEFORE)
    with connection.cursor() as cursor:
        cursor.execute(OLD)
    migrate(AFTER)
    with connection.cursor() as cursor:
        cursor.execute(NEW)
        rows = cursor.fetchall()
    rates, costs = "Rates in EUR", "Costs in EUR"
    assert rows == [
        ("rate", rates, "A", "", "", "", "EUR", "2.1", "01-01", "06-01", "List 1"),
        ("rate", rates, "A", "", "", "", "EUR", "2.2", "06-01", None, "List 2"),
        *[("rate", "Rates in USD", "A", "", "spot", "", "USD", "1", "01-01", None, "")],
        ("rate", rates, "A", "1g.10gb", "", "", "EUR", "3", "01-01", None, ""),
        ("rate", rates, "B", "", "", "low", "EUR", "4", "01-01", None, ""),
        ("cost", costs, "A", "", "", "", "EUR", "1.5", "01-01", "06-01", "List 1"),
        *[("cost", "Costs in USD", "A", "", "spot", "", "USD", "0", "01-01", None, "")],
    ]
