"""Every entry of `kit.reads.dimensions` works in REST, in files, in the command and on pages.

That one more entry is enough: `test_added_dimension`.
"""

import csv
import io
import json
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command

from accounting.kit.pages.filters import written
from accounting.kit.reads.dimensions import (
    BY_NAME,
    DIMENSIONS,
    FILTERS,
    LEDGER_DIMENSIONS,
    USAGE_DIMENSIONS,
    Dimension,
    PageUse,
)
from tests.integration.api.conftest import Ask
from tests.integration.conftest import SignIn

HOUR = (
    "from=2026-11-20T13:00:00Z&to=2026-11-20T14:00:00Z"  # five-minute facts are there
)
names = pytest.mark.parametrize("one", DIMENSIONS, ids=lambda one: one.name)


def usage(ask: Ask, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        ask("ana").get(f"/api/v1/usage?{HOUR}&{query}").json()["rows"]
    )
    return rows


def total(rows: list[dict[str, Any]]) -> int:
    return sum(row["allocated_ms"] for row in rows)


@names
def test_rest_and_files_split_by_it(ask: Ask, one: Dimension) -> None:
    rows = usage(ask, f"by={one.name}")
    keys = [key.name for key in one.keys]
    assert rows
    assert all(list(row)[: len(keys)] == keys for row in rows)
    assert total(rows) == total(usage(ask, "by="))
    file = ask("ana").get(f"/api/v1/usage?{HOUR}&by={one.name}&format=csv")
    head, *lines = csv.reader(io.StringIO(file.getvalue().decode()))
    assert head[: len(keys)] == keys
    assert len(lines) == len(rows)
    ledger = ask("ana").get(f"/api/v1/ledger?{HOUR}&by={one.name}")
    assert ledger.status_code == (200 if one.has_unheld else 400)


@pytest.mark.parametrize("name", FILTERS)
def test_rest_and_the_command_filter_by_it(ask: Ask, name: str) -> None:
    row = usage(ask, f"by={name}")[0]
    only = usage(ask, f"by={name}&{name}={quote(row[name])}")
    assert {found[name] for found in only} == {row[name]}
    printed = io.StringIO()
    start, end = (part.partition("=")[2] for part in HOUR.split("&"))
    option = f"--{name.replace('_', '-')}={row[name]}"
    call_command(
        *("report", "usage", f"--by={name}", option, f"--from={start}", f"--to={end}"),
        "--format=json",
        stdout=printed,
    )
    assert json.loads(printed.getvalue())["rows"] == only


@names
def test_pages_use_it_as_it_says(sign_in: SignIn, one: Dimension) -> None:
    client = sign_in("ana")
    day = "from=2026-11-20&to=2026-11-21"
    split = client.get(f"/?{day}&split={one.name}").context["split"]
    assert (split.by == one.name) == (PageUse.SPLIT in one.page)
    whole = client.get(f"/?{day}").context
    offered = [facet for facet in whole["facets"] if facet.name == one.name]
    assert bool(offered) <= (PageUse.MENU in one.page)
    if PageUse.FILTER not in one.page:
        assert client.get(f"/?{day}&{one.name}=x").context["chips"] == []
        return
    rows = client.get(f"/api/v1/usage?{day}&by={one.name}").json()["rows"]
    row = rows[0]
    value = quote(written(row[one.name]))
    found = client.get(f"/?{day}&{one.name}={value}").context
    assert [chip.label for chip in found["chips"]] == [one.label]
    assert found["breakdown"].summary.total.allocated_ms == row["allocated_ms"]


def test_an_entry_says_what_can_be(db: None) -> None:
    """A column of the facts goes with not being in every rollup; a filter has a value."""
    del db
    for one in DIMENSIONS:
        assert bool(one.column) == (one.stored.name in ("FACTS", "GPU_DAYS")), one.name
        assert one.sql
        assert not one.page or one.is_filter, one.name
        assert bool(one.empty_label) <= bool(one.page), one.name
    assert set(LEDGER_DIMENSIONS) <= set(USAGE_DIMENSIONS) == set(BY_NAME)
