"""Jobs of kube-state on the data health page, their form, and its REST twin (rules.md N40).

The cluster `north` has two jobs from 10:00 on 20 November 2026: `ksm`, and from 11:00 on
`strange`, which shows the node `gpu-01` too.
"""

import json
from typing import Any

import pghistory.models
import pytest
from django.test import Client

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.evidence import KubeJob, KubeJobOverlap, KubeJobRun
from tests.integration.conftest import SignIn
from tests.page_html import html_of
from tests.story import Story

REASON = "It is the shard of the new nodes."
TEN, ELEVEN, END = 1_795_168_800_000, 1_795_172_400_000, 1_795_183_200_000
FORM = "/data-health/kube-state-job?cluster=north&job=strange"
REST = "/api/v1/kube-state-jobs"


@pytest.fixture(autouse=True)
def jobs(story: Story, db: None) -> None:
    """What was sampled of them."""
    del db
    made = {}
    for job, first_ms in (("ksm", TEN), ("strange", ELEVEN)):
        row = KubeJob.objects.create(
            cluster=story.cluster, job=job, first_node_ms=first_ms
        )
        KubeJobRun.objects.create(kube_job=row, first_ms=first_ms, last_ms=END)
        made[job] = row
    for one, other in (("ksm", "strange"), ("strange", "ksm")):
        KubeJobOverlap.objects.create(
            kube_job=made[one], other=made[other], first_ms=ELEVEN, name="node gpu-01"
        )


def accepted() -> list[str]:
    found: list[str] = Cluster.objects.get(name="north").kube_state_jobs
    return found


def rows(client: Client) -> dict[str, dict[str, Any]]:
    """What REST lists, by job."""
    return {row["job"]: row for row in client.get(REST).json()["rows"]}


def post(client: Client, **body: Any) -> Any:
    values = {"cluster": "north", "job": "strange", "accepted": True, "reason": REASON}
    return client.post(REST, json.dumps(values | body), content_type="application/json")


# --- the page ----------------------------------------------------------------------


def test_data_health_lists_the_jobs_and_leads_admins_to_the_form(
    sign_in: SignIn,
) -> None:
    page = html_of(sign_in("ana").get("/data-health"))
    assert "north / strange" in page
    assert "also reports node gpu-01" in page
    assert FORM.replace("&", "&amp;") in page
    assert FORM.replace("strange", "ksm").replace("&", "&amp;") not in page
    page = html_of(sign_in("fin").get("/data-health"))
    assert "north / strange" in page
    assert "/data-health/kube-state-job" not in page
    assert "north / strange" not in html_of(sign_in("luis").get("/data-health"))


def test_an_admin_accepts_a_job_and_takes_that_back(sign_in: SignIn) -> None:
    client = sign_in("ana")
    shown = client.get(FORM)
    assert shown.status_code == 200
    assert "node gpu-01" in html_of(shown)
    saved = client.post(FORM, {"accepted": "yes", "reason": REASON}, follow=True)
    assert "the job is accepted" in html_of(saved)
    assert accepted() == ["strange"]
    events = pghistory.models.Events.objects.tracks(Cluster.objects.get(name="north"))
    [context] = [e.pgh_context for e in events if e.pgh_context is not None]
    assert (context["reason"], context["actor"]) == (REASON, "ana")

    assert b"Stop accepting this job" in client.get(FORM).content
    client.post(FORM, {"accepted": "no", "reason": REASON})
    assert accepted() == []


def test_a_form_without_a_reason_changes_nothing(sign_in: SignIn) -> None:
    client = sign_in("ana")
    for given in ({"accepted": "yes"}, {"accepted": "?", "reason": REASON}, {}):
        assert client.post(FORM, given).status_code == 422
    assert client.get(FORM.replace("strange", "nobody")).status_code == 404
    assert client.get("/data-health/kube-state-job").status_code == 404
    assert accepted() == []


@pytest.mark.parametrize("name", ["omar", "mia", "luis", "fin"])
def test_nobody_else_accepts_a_job(sign_in: SignIn, name: str) -> None:
    client = sign_in(name)
    given = {"accepted": "yes", "reason": REASON}
    assert client.get(FORM).status_code == 403
    assert client.post(FORM, given).status_code == 403
    assert post(client).status_code == (403 if name == "fin" else 404)
    assert client.get(REST).status_code == (200 if name == "fin" else 404)
    assert accepted() == []


# --- REST --------------------------------------------------------------------------


def test_rest_lists_what_the_page_shows(sign_in: SignIn) -> None:
    found = rows(sign_in("ana"))
    assert found["ksm"]["role"] == "leads"
    assert found["strange"] == {
        "cluster": "north",
        "job": "strange",
        "role": "other",
        "counts": False,
        "accepted": False,
        "listed": False,
        "applied": False,
        "first_sample": "2026-11-20T11:00:00Z",
        "last_sample": "2026-11-20T14:00:00Z",
        "shares": "node gpu-01",
    }


def test_rest_accepts_a_job(sign_in: SignIn) -> None:
    client = sign_in("ana")
    answer = post(client)
    assert answer.status_code == 200
    assert answer.json()["accepted"] is True
    assert accepted() == ["strange"]
    assert post(client).status_code == 200  # again: nothing new
    assert post(client, accepted=False).json()["accepted"] is False
    assert accepted() == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"job": "nobody"}, "#/job"),
        ({"cluster": "south"}, "#/cluster"),
        ({"accepted": "perhaps"}, "#/accepted"),
        ({"reason": ""}, "#/reason"),
    ],
)
def test_rest_says_what_is_wrong(
    sign_in: SignIn, body: dict[str, Any], pointer: str
) -> None:
    answer = post(sign_in("ana"), **body)
    assert answer.status_code == 400
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert accepted() == []
