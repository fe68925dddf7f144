"""The second column on pages: what is shown, sorted, filtered and found."""

import io
import json
import re

import pytest
from django.core.management import call_command

from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

WEEK = "range=7d"
HEADS = ("SM", "Tensor", "DRAM", "Peak memory", "Energy")


def heads(page: str) -> list[str]:
    found = re.findall(r'<th scope="col" class="c-[^>]*><a[^>]*>([^<]*)', page)
    return [text.strip() for text in found]


def test_how_hard_is_shown_where_it_is_asked_for(sign_in: SignIn) -> None:
    client = sign_in("ana")
    plain = client.get(f"/teams/vision/workloads?{WEEK}&by=run")
    assert not set(HEADS) & set(heads(html_of(plain)))
    answer = client.get(plain.context["hard_url"])
    text = html_of(answer)
    assert heads(text)[-5:] == list(HEADS)
    line = next(x for x in answer.context["page"].lines if x.workload == "sweep-resnet")
    row = line.row
    assert row.hard.sm_active is not None
    assert row.efficiency is not None
    assert abs(row.hard.sm_active - 0.6 * row.efficiency) < 1e-6
    assert f"{row.hard.sm_active:.1%}" in text
    assert "64.0 GiB" in text
    assert "kWh" in text
    menu = [choice.name for choice in answer.context["columns"]["menu"]]
    assert menu[-5:] == ["sm", "tensor", "dram", "memory", "energy"]
    again = html_of(client.get(answer.context["hard_url"]))
    assert not set(HEADS) & set(heads(again))


def test_how_hard_sorts_and_puts_what_is_unknown_last(sign_in: SignIn) -> None:
    answer = sign_in("ana").get(f"/teams/fraud/workloads?{WEEK}&show=hard&sort=-energy")
    names = [line.workload for line in answer.context["page"].lines]
    assert names == ["graph-train", "scoring"]
    scoring = answer.context["page"].lines[-1].row
    assert scoring.hard.energy_joules is None
    assert scoring.hard.peak_memory_bytes is None


def test_busy_without_work_is_a_filter(sign_in: SignIn) -> None:
    client = sign_in("ana")
    page = client.get(f"/teams/robotics/workloads?{WEEK}&by=run")
    answer = client.get(page.context["pointless_url"])
    assert [line.workload for line in answer.context["page"].lines] == ["sim-farm"]
    assert answer.context["total"].hard.tensor_active == 0
    none = client.get(f"/teams/vision/workloads?{WEEK}&only=pointless")
    assert "No run matches" in html_of(none)


def test_busy_without_work_is_found_on_the_teams_page(sign_in: SignIn) -> None:
    client = sign_in("ana")
    answer = client.get(f"/teams/robotics?{WEEK}")
    [row] = answer.context["pointless"]
    assert row.key["workload"] == "sim-farm"
    text = html_of(answer)
    assert (
        "1 workload kept GPUs busy with almost no tensor or memory activity: sim-farm"
        in text
    )
    assert client.get(answer.context["pointless_url"]).context["page"].count == 1
    assert "with almost no tensor" not in html_of(client.get(f"/teams/vision?{WEEK}"))


def test_an_issue_says_what_it_costs_and_what_to_do(sign_in: SignIn) -> None:
    text = html_of(sign_in("ana").get("/data-health"))
    assert "Namespace without a team" in text
    assert "Add an attribution rule for it." in text


def test_a_gpus_page_shows_its_life_and_how_hard_it_worked(
    sign_in: SignIn, story: Story
) -> None:
    held = next(one for one in story.held if one.workload.name == "sweep-resnet")
    answer = sign_in("ana").get(f"/gpus/{held.gpus[0].uuid}?range=1d")
    text = html_of(answer)
    assert "GPU activity while held" in text
    assert answer.context["hard"].peak_memory_bytes == 64 << 30
    assert "Events" in text
    assert answer.context["events"][-1].title == "First seen"


def test_the_api_and_the_report_give_what_was_busy_without_work(
    sign_in: SignIn,
) -> None:
    client = sign_in("ana")
    every = client.get("/api/v1/usage?by=workload&limit=1000").json()["rows"]
    few = client.get("/api/v1/usage?by=workload&only=pointless").json()["rows"]
    expected = [
        row
        for row in every
        if row["tensor_active"] is not None
        and (row["efficiency"] or 0) >= 0.5
        and max(row["tensor_active"], row["dram_active"]) <= 0.02
    ]
    assert few == expected
    assert 0 < len(few) < len(every)
    out = io.StringIO()
    words = ("--by=workload", "--only=pointless", "--format=json")
    call_command("report", "usage", *words, stdout=out)
    assert json.loads(out.getvalue())["rows"] == few
    refused = client.get("/api/v1/usage?by=workload&only=idle")
    assert refused.status_code == 400
    assert "pointless" in html_of(refused)
    assert client.get("/api/v1/ledger?only=pointless").status_code == 400
    with pytest.raises(SystemExit):
        call_command("report", "ledger", "--only=pointless", stderr=out)
