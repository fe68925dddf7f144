"""One more entry of `kit.reads.dimensions` is a dimension everywhere: nothing else lists it.

The product with that entry (`added_dimension`) runs as a process of its own, because entries
are read when it starts.
"""

import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

from accounting.kit.reads.dimensions import BY_NAME, LEDGER_DIMENSIONS


@pytest.fixture
def added(db: None) -> dict[str, Any]:
    """The answers of the product with one more entry."""
    del db
    to = connection.settings_dict
    address = (
        f"postgresql://{to['USER']}:{to['PASSWORD']}@/{to['NAME']}"
        f"?host={quote(str(to['HOST']))}&port={to['PORT']}"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.api.added_dimension"],
        env=os.environ
        | {"DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(200)
def test_one_more_entry_is_a_dimension_everywhere(added: dict[str, Any]) -> None:
    assert "department" not in BY_NAME  # not of the product: then take another name
    by_name = {row["department"]: row["allocated_ms"] for row in added["all"]}
    assert len(by_name) > 1
    assert [row["department"] for row in added["one"]] == ["Research"]
    assert added["one"][0]["allocated_ms"] == by_name["Research"] == added["page_ms"]
    assert added["csv"][0].startswith("department,allocated_ms,")
    assert len(added["csv"]) == len(by_name) + 1
    assert added["command"][0].startswith("department,allocated_ms,")
    assert [line.partition(",")[0] for line in added["command"][1:]] == ["Research"]
    assert added["chips"] == [["Department", "Research"]]
    assert added["split"] == [["Research", by_name["Research"]]]
    assert added["menu"]["department"] == "Department"
    assert "department" in added["parameters"]
    assert "department" in added["optional"]
    assert added["by_of_ledger"] == list(LEDGER_DIMENSIONS)
