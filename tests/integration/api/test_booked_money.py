"""Months, statements, charges and corrections over REST: reads of booked money (money.md M47).

One story with a closed October and a running November: rights by role, totals that are equal in
REST, page, query and file; filters, groups and cursors; ETags of closed months.

Not here: closing and reopening (test_closing.py), adjustments and exports (test_money_writes.py).
"""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.request import ExportRequest
from accounting.exports.tasks.stream import stream
from accounting.months.models.period import PeriodRevision, Statement
from accounting.months.reads.charges import charge_rows
from accounting.months.reads.lines import booking_of
from accounting.months.rules.close_checks import RULES
from accounting.months.tasks.close import close_period
from accounting.months.tasks.running import book_running
from tests.integration.access.routes import REST
from tests.integration.api.conftest import Ask, problem
from tests.integration.api.contract import schema
from tests.integration.api.test_lists import all_pages
from tests.integration.conftest import NOW
from tests.story import Story

SLICES = (
    "",
    "team",
    "model,lifecycle",
    "day",
    "cluster,namespace,workload",
    "kind,state",
)


@pytest.fixture(scope="module", autouse=True)
def booked(story: Story) -> Iterator[PeriodRevision]:
    """October is closed, November is running; the clock stands still."""
    del story
    with time_machine.travel(NOW, tick=False):
        closed = close_period("2026-10")
        book_running("2026-11")
        yield closed


def rows(ask: Ask, address: str, name: str = "fin") -> list[dict[str, Any]]:
    answer = ask(name).get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["rows"]
    return found


def total(found: list[dict[str, Any]], name: str = "charge") -> Decimal:
    return sum((Decimal(row[name]) for row in found), Decimal(0))


def test_every_slice_and_every_door_has_one_total(ask: Ask) -> None:
    for period in ("2026-10", "2026-11"):
        booking = booking_of(period)
        for by in SLICES:
            found = rows(ask, f"charges?period={period}&by={by}&limit=5000")
            assert total(found) == booking.payable, (period, by)
        in_query = charge_rows(booking, ("team",))
        by_team = {
            row["team"]: row["charge"] for row in rows(ask, f"charges?period={period}")
        }
        assert by_team == {row.fields["team"]: f"{row.charge:.6f}" for row in in_query}
        statements = rows(ask, f"statements?period={period}")
        assert statements == rows(ask, f"periods/{period}/statements")
        assert {row["team"]: row["payable"] for row in statements} == {
            team: f"{Decimal(charge):.2f}" for team, charge in by_team.items()
        }
        file = b"".join(stream(ExportRequest(What.CHARGES, period))).decode()
        exported = [row["charge"] for row in csv.DictReader(io.StringIO(file))]
        assert sum(Decimal(one) for one in exported if one) == booking.payable
        [month] = [one for one in rows(ask, "periods") if one["period"] == period]
        assert month["payable"] == f"{booking.payable:.2f}"


def test_days_are_sums_of_their_own_lines(ask: Ask) -> None:
    days = rows(ask, "charges?period=2026-10&by=day,kind")
    own = [row for row in days if row["day"] and row["kind"] != "rounding"]
    assert total(rows(ask, "charges?from=2026-10-01&to=2026-11-01&by=kind")) == total(
        own
    )
    first = [row for row in own if row["day"] < "2026-10-20"]
    assert total(rows(ask, "charges?from=2026-10-01&to=2026-10-20&by=")) == total(first)
    both = rows(ask, "charges?from=2026-10-30&to=2026-11-03&by=day")
    assert [row["day"] for row in both] == [
        *("2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02"),
    ]
    corrected = rows(ask, "charges?period=2026-10&as=corrected&by=kind")
    assert total(corrected) == total(own) + total(rows(ask, "corrections"))


def test_a_month_has_what_its_days_do_not(ask: Ask) -> None:
    """Rounding has no day: its cents are between `period` and the days of the whole month."""
    for period, days in (
        ("2026-10", "from=2026-10-01&to=2026-11-01"),
        ("2026-11", "from=2026-11-01&to=2026-12-01"),
    ):
        lines = rows(ask, f"charges?period={period}&by=kind,corrects")
        beside = [
            row
            for row in lines
            if row["corrects"] or row["kind"] in ("rounding", "credit", "adjustment")
        ]
        assert any(row["kind"] == "rounding" for row in beside)
        found = total(rows(ask, f"charges?{days}"))
        assert found + total(beside) == total(lines) == booking_of(period).payable
    of_team = [
        total(rows(ask, f"charges?{chosen}&team=vision"))
        for chosen in ("period=2026-10", "from=2026-10-01&to=2026-11-01")
    ]
    assert 0 < abs(of_team[0] - of_team[1]) < Decimal("0.01")


def test_days_and_month_are_told_apart_in_the_schema() -> None:
    get = schema()["paths"]["/api/v1/charges"]["get"]
    texts = {one["name"]: one["description"] for one in get["parameters"]}
    assert "Rounding belongs to a month and to no day" in texts["from"]
    assert "the sum is its payable" in texts["period"]


def test_filters_and_csv(ask: Ask) -> None:
    by_team = {row["team"]: row for row in rows(ask, "charges?period=2026-10")}
    two = rows(ask, "charges?period=2026-10&team=vision&team=search")
    assert two == [by_team["search"], by_team["vision"]]
    assert rows(ask, "charges?period=2026-10&department=nowhere") == []
    model = rows(ask, "charges?period=2026-10&model=NVIDIA-L40S&by=model,team")
    assert {row["model"] for row in model} == {"NVIDIA-L40S"}
    answer = ask("fin").get("/api/v1/charges?period=2026-10&by=team&format=csv")
    parsed = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["charge"] for row in parsed] == [
        row["charge"] for row in by_team.values()
    ]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("period=2026-13", "period"),
        ("period=2026-10&revision=x", "revision"),
        ("revision=1", "revision"),
        ("period=2026-10&from=2026-10-01", "period"),
        ("from=2026-10-01T10:00:00Z", "from"),
        ("from=2020-01-01", "from"),
        ("by=colour", "by"),
        ("as=measured", "as"),
        ("period=2026-10&revision=1&as=corrected", "revision"),
    ],
)
def test_wrong_use_names_the_parameter(ask: Ask, query: str, parameter: str) -> None:
    answer = ask("fin").get(f"/api/v1/charges?{query}")
    assert answer.status_code == 400
    assert problem(answer)["errors"][0]["parameter"] == parameter


def test_leads_read_their_teams_and_viewers_nothing(ask: Ask) -> None:
    for address in (
        "charges",
        "statements",
        "corrections",
        "periods/2026-10/statements",
    ):
        assert {row["team"] for row in rows(ask, address, "luis")} <= {"vision"}
        for name in ("mia", "omar"):
            assert problem(ask(name).get(f"/api/v1/{address}"))["status"] == 404
        for team in ("search", "platform", "unmapped", "nobody"):
            answer = ask("luis").get(f"/api/v1/{address}?team={team}")
            assert answer.status_code == 404, (address, team)
    for address in ("periods", "periods/2026-10", "periods/2026-10/checks"):
        assert ask("luis").get(f"/api/v1/{address}").status_code == 404
        assert ask("ana").get(f"/api/v1/{address}").status_code == 200
    luis = ask("luis")
    assert luis.get("/api/v1/statements/vision/2026-10").status_code == 200
    for address in ("search/2026-10", "nobody/2026-10", "vision/2019-01"):
        assert luis.get(f"/api/v1/statements/{address}").status_code == 404
    reader = ask("fin", scopes=("read:charges",))
    assert reader.get("/api/v1/charges").status_code == 200
    assert reader.get("/api/v1/periods/2026-10/statements").status_code == 403


def test_a_statement_is_whole_and_sums_to_its_payable(ask: Ask) -> None:
    for period in ("2026-10", "2026-11"):
        for team in ("vision", "platform", "unmapped"):
            found = ask("fin").get(f"/api/v1/statements/{team}/{period}").json()
            stored = Statement.objects.get(
                revision=booking_of(period).revision_id, team=team
            )
            assert Decimal(found["payable"]) == stored.payable
            assert total(found["items"], "amount") == stored.payable
            assert total(found["items"]) == stored.payable
            parts = [found[name] for name in ("own", "entries", "corrections")]
            assert sum(map(Decimal, parts)) == Decimal(found["total"])
            assert len(found["method_text"]) == 5
            assert found["number"] == (
                f"2026-10-{team}-r1" if period == "2026-10" else None
            )
    vision = ask("luis").get("/api/v1/statements/vision/2026-10").json()
    days = rows(ask, "charges?period=2026-10&by=day,kind", "luis")
    assert total(vision["days"]) == total([r for r in days if r["kind"] == "usage"])
    shown = [*vision["workloads"], vision["other_workloads"] or {"charge": "0"}]
    assert total(shown) == total(vision["days"])


def test_a_month_says_its_state_checks_and_revisions(
    ask: Ask, booked: PeriodRevision
) -> None:
    october = ask("fin").get("/api/v1/periods/2026-10").json()
    assert (october["state"], october["hash"]) == ("closed", booked.hash)
    november = ask("fin").get("/api/v1/periods/2026-11").json()
    assert (november["state"], november["hash"]) == ("open", None)
    assert november["previous_hash"] == booked.hash
    checks = ask("fin").get("/api/v1/periods/2026-11/checks").json()
    assert checks["blocks"]
    assert [one["code"] for one in checks["checks"]] == list(RULES)
    over = checks["checks"][0]
    assert (over["code"], over["level"], over["threshold"]) == ("over", "block", "0")
    assert over["link"] == ""
    assert ask("fin").get("/api/v1/periods/2019-01").status_code == 404
    assert ask("fin").get("/api/v1/periods/october").status_code == 400


CLOSED = (
    *("periods/2026-10", "statements/vision/2026-10", "periods/2026-10/statements"),
    *(
        "statements?period=2026-10",
        "charges?period=2026-10",
        "corrections?period=2026-10",
    ),
    "charges?from=2026-10-03&to=2026-10-09&by=day",
)


def test_closed_revisions_have_their_hash_as_strong_etag(
    ask: Ask, booked: PeriodRevision
) -> None:
    tag = f'"{booked.hash}"'
    for address in CLOSED:
        first = ask("fin").get(f"/api/v1/{address}")
        assert first.headers["ETag"] == tag, address
        known = {"If-None-Match": f'W/"other", {tag}'}
        again = ask("fin").get(f"/api/v1/{address}", headers=known)
        assert (again.status_code, again.content) == (304, b""), address
        assert again.headers["ETag"] == tag
    running = ask("fin").get("/api/v1/charges?period=2026-11")
    assert "ETag" not in running.headers
    luis = ask("luis").get("/api/v1/charges?period=2026-10")  # other bytes, another tag
    assert luis.headers["ETag"] not in (tag, "")
    file = ask("fin").get("/api/v1/charges?period=2026-10&format=csv")
    assert file.headers["ETag"] not in (tag, luis.headers["ETag"])
    assert (
        ask("mia")
        .get("/api/v1/charges?period=2026-10", headers={"If-None-Match": tag})
        .status_code
        == 404
    )


def test_what_is_known_is_304_in_every_form_of_every_list(ask: Ask) -> None:
    """JSON and CSV; tags that a proxy made weak, among others, and any tag."""
    fin, tagged = ask("fin"), set()
    lists = [route.at for route in REST.values() if route.get and "{" not in route.at]
    for address in [*lists, *(f"/api/v1/{one}" for one in CLOSED)]:
        mark = "&" if "?" in address else "?"
        for form in ("", f"{mark}format=csv"):
            first = fin.get(address + form)
            tag = first.headers.get("ETag")
            if first.status_code != 200 or tag is None:
                continue
            tagged.add(address + form)
            for known in (tag, f'W/{tag}, "other"', "*"):
                again = fin.get(address + form, headers={"If-None-Match": known})
                assert again.status_code == 304, (address + form, known)
                assert again.getvalue() == b""
                assert again.headers["ETag"] == tag
    files = {f"/api/v1/{one}&format=csv" for one in CLOSED if "?" in one}
    assert files | {"/api/v1/periods/2026-10/statements?format=csv"} <= tagged


def test_pages_are_of_one_booking(ask: Ask) -> None:
    fin, address = ask("fin"), "/api/v1/charges?period=2026-10&by=team,day,model"
    whole = fin.get(f"{address}&limit=5000").json()["rows"]
    assert len(whole) > 50
    cursor = fin.get(f"{address}&limit=7").json()["next"]
    book_running("2026-11")  # of another month: nothing changes here
    assert fin.get(f"{address}&limit=7&cursor={cursor}").json()["rows"] == whole[7:14]
    assert all_pages(fin, address, 41) == whole
    other = "/api/v1/charges?period=2026-11&by=team,day,model&limit=7"
    cursor = fin.get(other).json()["next"]
    assert fin.get(f"{other}&cursor={cursor}").status_code == 200
    with time_machine.travel(NOW.replace(minute=40)):
        book_running("2026-11")
    stale = fin.get(f"{other}&cursor={cursor}")
    assert stale.status_code == 410
    assert "computed again" in problem(stale)["detail"]
