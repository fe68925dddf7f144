"""Waste on its page, on the page of a team, over REST and as a report.

The story's `notebook-mara` of vision holds one GPU at 3 % and was never busy. Browsers open the
page in `tests/browser/test_every_page.py`; who may open it: `tests/integration/access`.
"""

import html
import json
import re
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models import F
from django.http import HttpResponse

from scheduler_view.savings.models import WasteDay, WasteFinding
from tests.integration.conftest import SignIn

pytestmark = pytest.mark.django_db
DAYS = "from=2026-11-19&to=2026-11-21"


def text(answer: object) -> str:
    """The visible words of a page."""
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    body = re.sub(
        r"<(script|style).*?</\1>", " ", answer.content.decode(), flags=re.DOTALL
    )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_an_administrator_sees_every_team_and_free_time(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    page = text(ana.get(f"/waste?{DAYS}"))
    apart = text(ana.get(f"/waste/apart?{DAYS}"))
    assert "What can be saved" in page
    assert "2 measured days" in page
    assert "No price" in apart
    assert "notebook-mara StatefulSet in vision-prod, north" in page
    assert "Never busy" in page
    assert "old-experiment" in page, "of an unmapped namespace"
    assert "Free, but not usable" in apart
    assert "These findings are not added to what can be saved." in apart
    assert "rule S29, docs/scheduling.md" in page
    limits = (
        "work for spot has at most 4 pods; each held for less than 24 hours; longest holds: "
        "not limited. An operator changes them"
    )
    assert limits in page
    assert "Not measured for north, whose objects are not observed: S21, S22" in page


def test_time_without_a_price_is_told_and_in_no_amount(sign_in: SignIn) -> None:
    rows = WasteFinding.objects.filter(
        rule="never_busy", workload__name="old-experiment"
    )
    assert rows.update(unpriced_ms=F("gpu_ms"), raw=0)
    page = text(sign_in("ana").get(f"/waste?{DAYS}"))
    assert "112 GPU-hours = €72.45 in 2 measured days" in page
    assert "74.4 of these GPU-hours have no price." in page


def test_a_lead_sees_only_their_team(sign_in: SignIn) -> None:
    page = text(sign_in("luis").get(f"/waste?{DAYS}"))
    assert "notebook-mara" in page
    assert "old-experiment" not in page
    assert "Free, but not usable" not in page
    assert sign_in("luis").get(f"/waste?{DAYS}&team=search").status_code == 404
    assert sign_in("luis").get(f"/waste?{DAYS}&team=nobody").status_code == 404
    assert sign_in("mia").get("/waste").status_code == 403


def test_each_finding_leads_to_its_metric_and_prices(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    page = luis.get(f"/waste?{DAYS}").content.decode()
    [address] = set(re.findall(r'href="(/explain[^"]+notebook-mara[^"]+)"', page))
    explained = text(luis.get(html.unescape(address)))
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in explained
    assert "\N{EURO SIGN}1.90" in explained


def test_the_page_of_a_team_says_what_to_give_back(sign_in: SignIn) -> None:
    card = f"/teams/vision/give-back?{DAYS}"
    page = text(sign_in("luis").get(card))
    part = page[page.index("GPU-hours can be saved") - 60 :][:800]
    assert "All findings" in part
    assert "notebook-mara" in part
    viewer = text(sign_in("mia").get(card))
    part = viewer[viewer.index("GPU-hours can be saved") - 60 :][:800]
    assert "All findings" not in part, "the page is for leads"
    assert "notebook-mara" in part


@pytest.mark.parametrize("path", ["/waste", "/teams/vision/give-back"])
def test_a_finding_opens_its_run(sign_in: SignIn, path: str) -> None:
    luis = sign_in("luis")
    run = "/teams/vision/runs/vision-prod/StatefulSet/notebook-mara"
    assert f'href="{run}"' in luis.get(f"{path}?{DAYS}").content.decode()
    assert luis.get(run).status_code == 200


def test_rest_has_the_rows_of_the_page(sign_in: SignIn) -> None:
    rows = sign_in("luis").get(f"/api/v1/waste?{DAYS}").json()["rows"]
    [found] = [row for row in rows if row["rule"] == "never_busy"]
    assert (found["workload"], found["team"]) == ("notebook-mara", "vision")
    # all of its idle time, at the price of the model: 1.90
    idle = sum(
        WasteFinding.objects.filter(workload__name="notebook-mara").values_list(
            "gpu_ms", flat=True
        )
    )
    assert found["gpu_ms"] == idle
    exact = Decimal(idle) * Decimal("1.90") / 3_600_000
    assert abs(Decimal(found["amount"]) - exact) <= Decimal("0.000001")
    assert found["measured_days"] == 2
    assert {row["team"] for row in rows} == {"vision"}
    amounts = [Decimal(row["amount"]) for row in rows if row["amount"]]
    assert amounts == sorted(amounts, reverse=True)
    assert found["first_from"] == "2026-11-18T23:00:00Z", "the first kept window"
    lines = sign_in("luis").get(f"/api/v1/waste?{DAYS}&format=csv").content.decode()
    assert len(lines.splitlines()) == len(rows) + 1


def test_the_report_has_the_same_rows(sign_in: SignIn) -> None:
    out = StringIO()
    call_command(
        *("report", "waste", "--from", "2026-11-19", "--to", "2026-11-21"),
        *("--team", "vision", "--format", "json"),
        stdout=out,
    )
    rows = sign_in("luis").get(f"/api/v1/waste?{DAYS}").json()["rows"]
    assert json.loads(out.getvalue())["rows"] == rows


def test_without_findings_the_page_says_how_many_days_were_measured(
    sign_in: SignIn,
) -> None:
    WasteFinding.objects.all().delete()
    page = text(sign_in("ana").get(f"/waste?{DAYS}"))
    assert "Nothing to save" in page
    assert "2 days measured." in page
    WasteDay.objects.all().delete()
    page = text(sign_in("ana").get(f"/waste?{DAYS}"))
    assert "Not measured yet" in page
    assert "Nothing to save" not in page


def test_each_of_the_two_lists_has_pages_of_its_own(sign_in: SignIn) -> None:
    day = WasteDay.objects.filter(day="2026-11-20").select_related("cluster")[0]
    WasteFinding.objects.bulk_create(
        WasteFinding(
            cluster=day.cluster,
            day=day.day,
            rule=rule,
            unit=f"Job/lab-{number}/{rule}",  # one family each
            start_ms=0,
            end_ms=1,
            gpu_ms=number,
            raw=0,
        )
        for rule in ("never_busy", "starvation")
        for number in range(1, 41)
    )
    client = sign_in("ana")
    first = client.get(f"/waste?{DAYS}").context
    apart = client.get(f"/waste/apart?{DAYS}").context
    assert len(first["lines"]) == len(apart["apart_lines"]) == 25
    assert not first["apart_lines"], "they load by themselves"
    asked = client.get(f"/waste?{DAYS}&apart=2").context["apart_lines"]
    assert asked[0].row.key not in {line.row.key for line in apart["apart_lines"]}
    second = client.get(f"/waste?{DAYS}&page=2").context
    assert second["page"].first == 26
    assert len(second["lines"]) == min(25, first["page"].count - 25)
    assert second["apart"].number == 1
    assert second["report"].gpu_ms == first["report"].gpu_ms, "sums are of all pages"
    longer = client.get(f"/waste?{DAYS}&rows=50").context
    assert len(longer["lines"]) == min(50, first["page"].count)
