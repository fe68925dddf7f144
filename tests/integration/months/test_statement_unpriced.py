"""Time without a price in the rows of a statement, in words (M11, M33).

Not covered: how a line gets its status (test_statements.py).
"""

import re
from datetime import date

from django.template.loader import render_to_string

from accounting.access.scope import EVERYTHING
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statement_document import StatementDocument, document
from accounting.months.reads.statements import statement_row
from accounting.months.tasks.running import book_running
from tests.integration.months.days import H100, Days

DAY = date(2026, 10, 5)
HOUR = 3_600_000


def october() -> StatementDocument:
    book_running("2026-10")
    booking = booking_of("2026-10")
    row = statement_row(booking, EVERYTHING, "vision")
    assert row is not None
    return document(booking, row)


def rows_of(found: StatementDocument) -> str:
    html = render_to_string(
        "months/_statement_rows.html", {"items": found.usage, "part": ""}
    )
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_row_without_any_price_has_no_amount(days: Days) -> None:
    days.use("vision", DAY, 12 * HOUR, model="A")
    found = october()
    assert found.usage[0].has_no_amount
    text = rows_of(found)
    assert "All of these 12.0 GPU-h are without a price" in text
    assert "No price" in text
    assert "0.00" not in text
    assert found.idle.has_no_amount is False  # nothing was idle


def test_a_row_with_a_price_for_a_part_names_the_rest(days: Days) -> None:
    days.use("vision", DAY, 3 * HOUR)
    days.price(H100, "2.00")
    days.use("vision", DAY, 2 * HOUR)
    [row] = (found := october()).usage
    assert (row.ms, row.without_money_ms) == (5 * HOUR, 3 * HOUR)
    text = rows_of(found)
    assert "Of these, 3.0 GPU-h are without a price" in text
    assert "4.00" in text
    assert found.workloads[0].without_money_ms == 3 * HOUR
    assert found.days[0].without_money_ms == 3 * HOUR
