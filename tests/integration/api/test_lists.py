"""The API's rows are the commands' rows: as JSON, as CSV, and page by page."""

import csv
import io
import json
from typing import Any

import pytest
from django.core import signing
from django.core.management import call_command
from django.test import Client

from accounting.access.models.teams import Binding, Team
from accounting.metering.models.pod import Namespace
from tests.integration.api.conftest import CSV, Ask, problem
from tests.story import Story

REPORTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("usage", {}),
    ("usage", {"by": "team,workload"}),
    ("usage", {"by": "cluster,model,lifecycle,tier"}),
    ("usage", {"by": "hour,namespace", "from": "2026-11-19", "to": "2026-11-20"}),
    ("usage", {"by": "pod,gpu,node", "from": "2026-11-20T10:05:00Z"}),
    ("usage", {"by": "day,workload_type", "team": "vision"}),
    ("usage", {"by": ""}),
    ("ledger", {}),
    ("ledger", {"by": "gpu,hour", "from": "2026-11-20T12:00:00Z"}),
    ("ledger", {"by": "node,cluster", "model": "NVIDIA-L40S"}),
    ("ledger", {"by": "day", "to": "2026-10-25"}),
    ("holds", {}),
    ("issues", {}),
    ("issues", {"cluster": "north"}),
    ("issues", {"state": "all"}),
)
NAMES = {"issues": "data-issues"}


def report(what: str, given: dict[str, str], form: str) -> str:
    out = io.StringIO()
    words = [f"--{name}={value}" for name, value in given.items()]
    call_command("report", what, f"--format={form}", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(("what", "given"), REPORTS)
def test_json_is_what_the_command_prints(
    ask: Ask, what: str, given: dict[str, str]
) -> None:
    expected = json.loads(report(what, given, "json"))
    answer = ask("ana").get(
        f"/api/v1/{NAMES.get(what, what)}", given | {"limit": "5000"}
    )
    assert answer.headers["Content-Type"] == "application/json"
    found = answer.json()
    assert found == expected | {"next": None}
    # the order of fields too: dimensions first
    assert [list(row) for row in found["rows"]] == [list(r) for r in expected["rows"]]
    assert found["rows"] or what == "holds"


@pytest.mark.parametrize(("what", "given"), REPORTS)
def test_csv_is_what_the_command_prints(
    ask: Ask, what: str, given: dict[str, str]
) -> None:
    answer = ask("ana").get(f"/api/v1/{NAMES.get(what, what)}", given, headers=CSV)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    file = answer.getvalue()
    assert file.decode() == report(what, given, "csv")
    again = ask("ana").get(
        f"/api/v1/{NAMES.get(what, what)}", given | {"format": "csv"}
    )
    assert again.getvalue() == file


def test_csv_has_all_rows_and_pages_have_some(ask: Ask) -> None:
    client = ask("ana")
    address = "/api/v1/usage?by=hour,workload"
    page = client.get(address).json()
    assert len(page["rows"]) == 500
    whole = list(csv.DictReader(io.StringIO(_text(client, address))))
    assert len(whole) > 5000
    assert [row["hour"] for row in whole[:500]] == [r["hour"] for r in page["rows"]]


def _text(client: Client, address: str) -> str:
    text: str = client.get(address, headers=CSV).getvalue().decode()
    return text


def all_pages(client: Client, address: str, limit: int) -> list[dict[str, Any]]:
    """Every row, by following `next` from the first page to the last."""
    mark = "&" if "?" in address else "?"
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = client.get(f"{address}{mark}limit={limit}{cursor}").json()
        assert len(page["rows"]) == limit or page["next"] is None
        rows += page["rows"]
        if page["next"] is None:
            return rows
        cursor = f"&cursor={page['next']}"


@pytest.mark.parametrize(
    ("address", "limit"),
    [
        ("usage?by=team,day", 7),
        ("usage?by=team", 1),
        ("ledger?by=gpu&from=2026-11-20", 12),
        ("ledger?by=day", 44),
        ("teams", 3),
        ("bindings", 2),
        ("prices", 2),
        ("data-issues", 1),
        ("holds", 3),
        ("gpu-holders?from=2026-11-20", 7),
        ("audit", 2),
    ],
)
def test_pages_together_are_the_whole_and_no_row_comes_twice(
    ask: Ask, address: str, limit: int
) -> None:
    client = ask("ana")
    whole = client.get(f"/api/v1/{address}").json()
    assert whole["next"] is None
    assert all_pages(client, f"/api/v1/{address}", limit) == whole["rows"]


def test_a_page_that_ends_with_the_list_has_no_next(ask: Ask) -> None:
    client = ask("ana")
    count = len(client.get("/api/v1/teams").json()["rows"])
    assert client.get(f"/api/v1/teams?limit={count}").json()["next"] is None
    assert client.get(f"/api/v1/teams?limit={count - 1}").json()["next"] is not None
    assert ask("omar").get("/api/v1/usage").json() == {"rows": [], "next": None}


def _cursor(client: Client, address: str) -> str:
    found: str = client.get(f"/api/v1/{address}").json()["next"]
    return found


def test_a_forged_cursor_is_refused(ask: Ask) -> None:
    client = ask("ana")
    real = _cursor(client, "teams?limit=2")
    for forged in (
        *("", "0", "bzUwMA==", "b", "\x01", "é", real[:-1], real + "x", real * 50),
        signing.dumps([0, "", ""], salt="another"),
    ):
        answer = client.get("/api/v1/teams", {"limit": "2", "cursor": forged})
        assert answer.status_code == 400, forged
        [error] = problem(answer)["errors"]
        assert error["parameter"] == "cursor"
        assert "not a valid cursor" in error["detail"]


def test_a_cursor_of_another_question_is_refused(ask: Ask) -> None:
    client = ask("ana")
    cursor = _cursor(client, "usage?by=team&limit=2")
    for other in ("usage?by=model", "usage?by=team&cluster=north", "teams"):
        mark = "&" if "?" in other else "?"
        answer = client.get(f"/api/v1/{other}{mark}limit=2&cursor={cursor}")
        assert answer.status_code == 400
        assert "other parameters" in problem(answer)["detail"]


def test_a_cursor_of_somebody_who_sees_more_is_refused(ask: Ask) -> None:
    cursor = _cursor(ask("ana"), "usage?by=team,workload&limit=2")
    answer = ask("luis").get(f"/api/v1/usage?by=team,workload&limit=2&cursor={cursor}")
    assert answer.status_code == 410
    assert "rows" not in problem(answer)


def test_a_cursor_is_stale_when_the_rows_have_changed(ask: Ask) -> None:
    client = ask("ana")
    cursor = _cursor(client, "usage?by=namespace&limit=2")
    Namespace.objects.filter(name="vision-prod").update(name="vision-live")
    answer = client.get(f"/api/v1/usage?by=namespace&limit=2&cursor={cursor}")
    assert answer.status_code == 410
    [error] = problem(answer)["errors"]
    assert error["parameter"] == "cursor"
    assert "start again" in error["detail"]


FORMULAS = ("=cmd|'/c calc'!A1", "+1+cmd()", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_in_a_name_is_harmless_in_csv(
    ask: Ask, story: Story, text: str
) -> None:
    Namespace.objects.filter(name="vision-prod").update(name=text)
    Team.objects.filter(slug="vision").update(name=text, department=text)
    client = ask("ana")
    for address, column in (("usage?by=namespace", "namespace"), ("teams", "name")):
        rows = list(csv.DictReader(_lines(client, f"/api/v1/{address}")))
        cells = [row[column] for row in rows]
        assert "'" + text.replace("\r", "\n") in cells
        assert not any(cell.startswith(("=", "@", "\t", "\r", "\n")) for cell in cells)
    as_json = client.get("/api/v1/usage?by=namespace").json()["rows"]
    assert text in [row["namespace"] for row in as_json]  # JSON runs nothing


def _lines(client: Client, address: str) -> io.StringIO:
    return io.StringIO(_text(client, address), newline="")


def test_a_list_in_csv_is_one_cell_of_words(ask: Ask) -> None:
    rows = list(csv.DictReader(_lines(ask("ana"), "/api/v1/teams")))
    leads = {row["slug"]: row["leads"] for row in rows}
    assert leads["vision"] == "luis"
    assert leads["search"] == ""


def test_an_empty_list_is_an_empty_file(ask: Ask) -> None:
    answer = ask("omar").get("/api/v1/usage", headers=CSV)
    assert answer.getvalue() == b""
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"


def test_numbers_stay_numbers_in_csv(ask: Ask, story: Story) -> None:
    Binding.objects.filter(team__slug="vision").update(glob="-17")
    rows = list(csv.DictReader(_lines(ask("ana"), "/api/v1/bindings")))
    assert "-17" in [row["glob"] for row in rows]
