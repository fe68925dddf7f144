"""Retire a cluster on a page: shown first, then saved, and taken back (rules.md N38).

Not here: what workers do (tests/integration/metering/holds/test_retired_clusters.py), rights
(tests/integration/access).
"""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pghistory.models
from django.contrib.messages import get_messages

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import PendingRetirement
from tests.euros import number
from tests.integration.conftest import NOW, SignIn
from tests.page_html import html_of

URL = "/clusters/retire?cluster=north"
REASON = "Its hardware was returned."
LOCAL = "%Y-%m-%dT%H:%M"


def test_it_is_shown_before_it_is_saved_and_can_be_taken_back(sign_in: SignIn) -> None:
    client = sign_in("ana")
    at = NOW.replace(minute=0) - timedelta(hours=5)
    zone = client.get(URL).context["zone"]
    fields = {"retired": f"{at.astimezone(ZoneInfo(zone)):{LOCAL}}", "reason": REASON}

    shown = client.post(URL, fields)
    effect = shown.context["effect"]
    assert effect.start == at
    assert effect.wall_ms > 0
    assert number(effect.wall_charge) > 0
    assert "GPU-hours are removed" in html_of(shown)
    assert Cluster.objects.get(name="north").retired_at is None

    saved = client.post(URL, fields | {"confirm": "yes"})
    assert saved.status_code == 302
    assert "is retired" in str(next(iter(get_messages(saved.wsgi_request))))
    cluster = Cluster.objects.get(name="north")
    assert cluster.retired_at == at
    assert PendingRetirement.objects.filter(cluster=cluster).exists()
    event = pghistory.models.Events.objects.tracks(cluster).order_by("pgh_id").last()
    assert event is not None
    assert event.pgh_context["actor"] == "ana"
    assert event.pgh_context["reason"] == REASON

    assert f"{at.astimezone(ZoneInfo(zone)):{LOCAL}}" in html_of(client.get(URL))
    client.post(URL, {"retired": "", "reason": REASON, "confirm": "yes"})
    assert Cluster.objects.get(name="north").retired_at is None


def test_what_cannot_be_read_is_said_and_nothing_is_saved(sign_in: SignIn) -> None:
    client = sign_in("ana")
    for retired in ("tomorrow", "2026-13-45T10:00", "0001-01-01T00:00"):
        fields = {"retired": retired, "reason": REASON, "confirm": "yes"}
        answer = client.post(URL, fields)
        assert answer.status_code == 422, retired
        assert answer.context["form"].errors["retired"]
    assert Cluster.objects.get(name="north").retired_at is None


def test_it_is_reached_from_data_health_by_administrators(sign_in: SignIn) -> None:
    link = f'href="{URL}"'
    assert link in html_of(sign_in("ana").get("/data-health"))
    assert link not in html_of(sign_in("fin").get("/data-health"))
    assert sign_in("ana").get("/clusters/retire?cluster=nowhere").status_code == 404
