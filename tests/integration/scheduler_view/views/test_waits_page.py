"""What waits, why, and who holds it on the pages of quotas: for the team and for admins."""

import re

import pytest

from scheduler_view.observation.watch import look_once
from tests.integration.conftest import SignIn
from tests.integration.scheduler_view.actions.office import Office
from tests.integration.scheduler_view.views.test_quota_pages import text

WORDS = "0/12 nodes are available: 12 Insufficient nvidia.com/gpu."


@pytest.fixture
def desk(desk: Office) -> Office:
    """Quotas of three teams; a pod of search has the only node, one of vision and search wait."""
    admin = desk.world.admin
    admin.make_node("only", nvidia_com__gpu=2)
    admin.make_pod("search-prod", "search-holds", 2, nodeName="only")
    only = {"kubernetes.io/hostname": "only"}
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"conditions": [said | {"message": WORDS}]}
    for team in ("vision", "search"):
        admin.make_pod(f"{team}-prod", f"{team}-train", 2, nodeSelector=only)
        path = f"/api/v1/namespaces/{team}-prod/pods/{team}-train/status"
        admin.call("PATCH", path, {"status": status}, "application/merge-patch+json")
    look_once(desk.cluster, now=desk.now)
    return desk


def test_what_waits_stands_with_the_schedulers_words(
    desk: Office, sign_in: SignIn
) -> None:
    del desk
    luis, ana = sign_in("luis"), sign_in("ana")
    page = text(luis.get("/teams/vision/quota"))
    assert "Work that waits" in page
    assert "vision-train Pod in vision-prod on north" in page
    assert "2 GPUs" in page
    assert "Not enough free GPUs on matching nodes" in page
    assert WORDS in page
    assert "A pod of search: 2 GPUs" in page
    assert "a pod of search ends" in page
    assert "search-holds" not in page, "another team's pod"
    assert "search-train" not in page
    assert "search-train" not in text(luis.get("/quotas"))
    whole = text(ana.get("/quotas"))
    assert "vision-train" in whole
    assert "search-train" in whole
    assert re.search("search-prod/search-holds ?: 2 GPUs, search", whole)
