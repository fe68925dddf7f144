"""`/quotas/file`: a file is downloaded, filled in and uploaded, and becomes one reviewed change."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.quotas.models import QuotaTarget
from tests.integration.changes.office import Office
from tests.integration.conftest import SignIn
from tests.integration.quotas.test_quota_pages import act, text
from tests.page_html import html_of

PATH = "/quotas/file"
REASON = "Agreed for December. OPS-4812"


def upload(client: Client, content: str | bytes) -> Any:
    """What the page answers to a file."""
    raw = content if isinstance(content, bytes) else content.encode()
    file = SimpleUploadedFile("quotas.csv", raw, "text/csv")
    return client.post(PATH, {"cluster": "north", "reason": REASON, "file": file})


@pytest.fixture
def lines(desk: Office, sign_in: SignIn) -> list[str]:
    """The lines of the downloaded file."""
    del desk
    answer = sign_in("ana").get(f"{PATH}?download=north")
    assert answer.headers["Content-Type"].startswith("text/csv")
    found: list[str] = answer.content.decode().splitlines()
    return found


def test_the_file_has_a_line_for_each_team(lines: list[str]) -> None:
    assert lines[0] == "team,resource,tier,gpus"
    assert "vision,nvidia.com/gpu,,24" in lines
    assert "speech,nvidia.com/gpu,," in lines  # without a quota


def test_what_differs_becomes_one_change(
    desk: Office, sign_in: SignIn, lines: list[str]
) -> None:
    ana, before = sign_in("ana"), ChangeSet.objects.count()
    assert upload(ana, "\n".join(lines)).status_code == 422  # nothing differs
    swapped = [one.replace(",,24", ",,20").replace(",,12", ",,none") for one in lines]
    answer = upload(ana, "\n".join(swapped))
    assert answer.status_code == 302
    assert ChangeSet.objects.count() == before + 1
    made = ChangeSet.objects.latest("pk")
    assert answer.headers["Location"] == f"/changes/{made.pk}"
    assert {(one["team"], one["gpus"]) for one in made.edits} == {
        ("vision", 20),
        ("search", None),
    }
    desk.work()
    page = text(ana.get(f"/changes/{made.pk}"))
    assert "Vision" in page
    act(ana, made, "apply")
    desk.work()
    made.refresh_from_db()
    assert made.state == ChangeState.APPLIED
    assert dict(QuotaTarget.objects.values_list("team__slug", "gpus")) == {
        "vision": 20,
        "language": 30,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("team,resource,gpus\nvison,nvidia.com/gpu,8\n", "no team has the short name"),
        (b"team,resource,gpus\nvision,nvidia.com/gpu,\xff\n", "Not UTF-8: byte 41"),
        ("team,resource,gpus\nvision,requests.cpu,8\n", "requests.cpu"),
    ],
)
def test_a_file_with_a_fault_changes_nothing(
    desk: Office, sign_in: SignIn, content: str | bytes, words: str
) -> None:
    del desk
    before = ChangeSet.objects.count()
    answer = upload(sign_in("ana"), content)
    assert answer.status_code == 422
    assert words in text(answer)
    assert ChangeSet.objects.count() == before


def test_each_fault_of_a_file_has_a_line(desk: Office, sign_in: SignIn) -> None:
    del desk
    wrong = "team,resource,gpus\nvison,nvidia.com/gpu,8\nvision,nvidia.com/gpu,2.5\n"
    page = html_of(upload(sign_in("ana"), wrong))
    said = page[page.index('id="id_file_error"') :]
    first, second = said[: said.index("</p>")].split("<br>")
    assert "line 2" in first
    assert "line 3" in second
