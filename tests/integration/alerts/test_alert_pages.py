"""Alerts on their pages: the sentence, who reads what, the archive, and thresholds.

Not here: when rules fire (test_fired.py), pages in a browser (tests/browser/test_alerts.py).
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.auth import get_user_model

from accounting.access.models.people import Membership, Person
from accounting.core.interval import to_ms
from accounting.kit.reads.database_clock import database_now
from accounting.metering.models.ledger import DataIssue
from scheduler_view.alerts.models import Alert, AlertCheck, AlertNote, AlertThreshold
from scheduler_view.alerts.rules.catalogue import RULES, AlertRule
from scheduler_view.alerts.tasks import look
from scheduler_view.idle.models import IdleHold
from scheduler_view.idle.tasks import find_idle
from tests.integration.conftest import NOW, SignIn
from tests.integration.idle.test_idle_pages import text
from tests.story import Story

pytestmark = pytest.mark.django_db
MARA, OLD = "notebook-mara", "old-experiment"  # of vision; without a team
REASON = "Known, the demo ends on Friday."


@pytest.fixture(autouse=True)
def fired(story: Story) -> Iterator[None]:
    """Alerts of idle holders and of unmapped namespaces, right after the newest window."""
    with time_machine.travel(NOW, tick=False):
        find_idle(story.cluster)
        look(AlertRule.IDLE, lambda: NOW)
        look(AlertRule.NAMESPACE, lambda: NOW)
        yield


def number(name: str = MARA) -> int:
    return Alert.objects.get(what__startswith=f"{name} ").pk


def new_ones(client: Any) -> str:
    """What the symbol beside the search says."""
    found = re.search(
        r'aria-label="(Alerts[^"]*)"', client.get("/alerts").content.decode()
    )
    return found[1] if found else ""


def test_the_sentence_counts_and_names_the_dearest(sign_in: SignIn) -> None:
    page = text(sign_in("ana").get("/alerts"))
    count = Alert.objects.count()
    assert count == 3
    assert f"{count} alerts need you:" in page
    assert "Idle GPUs (2)" in page
    dearest = max(Alert.objects.exclude(amount=None), key=lambda one: one.amount or 0)
    assert f"The dearest: {dearest.what}, €" in page
    assert RULES[AlertRule(dearest.rule)].costs in page
    other = Alert.objects.filter(rule="idle").exclude(pk=dearest.pk)[:1]
    budget = Alert.objects.filter(pk__in=[one.pk for one in other])
    was = budget.get()
    budget.update(rule="budget", amount=9999, place=[1], per_hour=None)
    page = text(sign_in("ana").get("/alerts"))
    assert f"The dearest: {dearest.what}, €" in page, "what is expected is not spent"
    assert "€9,999.00 expected over" in page
    was.save()
    page = text(sign_in("ana").get("/alerts"))
    assert "Ask the owner" in page
    assert "Map to a team" in page


def test_a_lead_reads_the_alerts_of_their_teams(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    page = text(luis.get("/alerts"))
    assert MARA in page
    assert OLD not in page
    assert "scratch" not in page
    assert luis.get("/alerts?team=search").status_code == 404
    assert luis.get(f"/alerts/{number(OLD)}/archive").status_code == 404
    assert luis.get(f"/api/v1/alerts/{number(OLD)}").status_code == 404
    rows = luis.get("/api/v1/alerts").json()["rows"]
    assert {row["team"] for row in rows} == {"vision"}
    assert OLD in text(sign_in("fin").get("/alerts"))


def test_a_member_reads_none_and_has_no_symbol(sign_in: SignIn) -> None:
    mia = sign_in("mia")
    assert mia.get("/alerts").status_code == 403
    assert mia.get("/api/v1/alerts").status_code == 404
    assert 'aria-label="Alerts' not in mia.get("/quotas").content.decode()


def test_a_lead_of_one_team_and_member_of_another_reads_one(
    sign_in: SignIn, story: Story
) -> None:
    lena = get_user_model().objects.create_user("lena")
    Person.objects.create(user=lena, role="none")
    Membership.objects.create(user=lena, team=story.teams["search"], role="lead")
    Membership.objects.create(user=lena, team=story.teams["vision"], role="viewer")
    client = sign_in("lena")
    assert MARA not in text(client.get("/alerts"))
    assert client.get("/alerts?team=vision").status_code == 404
    assert (
        client.post(f"/alerts/{number()}/archive", {"reason": REASON}).status_code
        == 404
    )
    assert client.get("/alerts/rules/idle?team=vision").status_code == 404


def test_the_count_is_that_of_new_ones(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert new_ones(ana) == f"Alerts, {Alert.objects.count()} new"
    Alert.objects.exclude(pk=number()).update(marked_at=NOW.replace(day=1))
    assert new_ones(ana) == "Alerts, 1 new"
    page = text(ana.get("/alerts"))
    assert "1 alert needs you." in page
    assert f"{Alert.objects.count() - 1} are ongoing." in page
    Alert.objects.update(marked_at=NOW.replace(day=1))
    assert new_ones(ana) == "Alerts"
    assert "Nothing is new." in text(ana.get("/alerts"))


def test_an_archived_alert_leaves_the_list_and_the_count(sign_in: SignIn) -> None:
    luis, pk = sign_in("luis"), number()
    form = text(luis.get(f"/alerts/{pk}/archive"))
    assert f"{MARA} holds 1 A100 80 GB and is idle" in form
    assert "hides the alert from everybody who sees it, administrators and" in form
    page = text(luis.post(f"/alerts/{pk}/archive", {"reason": REASON}, follow=True))
    assert "is archived until it grows by half." in page
    assert MARA not in page.partition("Open")[2].partition("grows by half.")[2]
    assert new_ones(luis) == "Alerts"
    archive = text(luis.get("/alerts/archived"))
    assert MARA in archive
    assert REASON in archive
    assert "luis" in archive.lower()
    again = luis.post(f"/alerts/{pk}/archive", {"reason": REASON})
    assert "archived already" in text(again, 422)
    luis.post(f"/alerts/{pk}/restore", {"reason": REASON})
    assert new_ones(luis) == "Alerts, 1 new"
    assert [note.is_archived for note in AlertNote.objects.all()] == [False, True]
    assert "Nothing is archived" in text(luis.get("/alerts/archived"))


def test_nothing_is_below_its_threshold_while_alerts_are_archived(
    sign_in: SignIn,
) -> None:
    ana = sign_in("ana")
    Alert.objects.update(archived_figure=1)
    page = text(ana.get("/alerts"))
    assert "Every rule is below its threshold" not in page
    assert f"All {Alert.objects.count()} alerts are archived" in page
    Alert.objects.exclude(pk=number()).delete()
    assert "The only alert is archived" in text(ana.get("/alerts"))
    Alert.objects.all().delete()
    assert "Every rule is below its threshold." in text(ana.get("/alerts"))


def test_an_archived_alert_returns_when_it_grew_by_half(sign_in: SignIn) -> None:
    luis, pk = sign_in("luis"), number()
    luis.post(f"/alerts/{pk}/archive", {"reason": REASON})
    hold = IdleHold.objects.filter(pod__workload__name=MARA)
    hold.update(raw=hold.get().raw * 3 / 2 - 1)
    look(AlertRule.IDLE, lambda: NOW)
    assert new_ones(luis) == "Alerts"
    hold.update(raw=hold.get().raw + 3_600_000)
    look(AlertRule.IDLE, lambda: NOW)
    assert "Worse" in text(luis.get("/alerts"))


def test_resolved_alerts_say_why(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    IdleHold.objects.all().delete()
    look(AlertRule.IDLE, lambda: NOW)
    assert "Nothing needs you" in text(luis.get("/alerts"))
    page = text(luis.get("/alerts/resolved"))
    assert MARA in page
    assert "It is over" in page
    answer = luis.post(f"/alerts/{number()}/archive", {"reason": REASON})
    assert "resolved already" in text(answer, 422)


def test_filters_of_rule_and_team(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    assert MARA not in text(ana.get("/alerts?rule=namespace"))
    assert "scratch" in text(ana.get("/alerts?rule=namespace"))
    assert "None with this filter" in text(ana.get("/alerts?rule=late"))
    assert MARA not in text(ana.get("/alerts?team=search"))
    assert ana.get("/alerts?rule=nothing").status_code == 400
    for name, offered in (("ana", 14), ("luis", 6)):
        page = sign_in(name).get("/alerts").content.decode()
        choices = page.partition('id="by-rule"')[2].partition("</select>")[0]
        assert choices.count("<option") == 1 + offered, name


def test_the_button_leads_to_the_act(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    for row in ana.get("/api/v1/alerts").json()["rows"]:
        assert ana.get(row["url"]).status_code == 200, row
    [scratch] = [
        row
        for row in ana.get("/api/v1/alerts").json()["rows"]
        if row["rule"] == "namespace"
    ]
    assert scratch["url"] == "/attribution/new?namespace=scratch"
    assert scratch["action"] == "Map to a team"


@pytest.mark.parametrize("name", ["ana", "fin", "luis"])
def test_every_button_leads_to_a_page_of_its_reader(sign_in: SignIn, name: str) -> None:
    client = sign_in(name)
    rows = client.get("/api/v1/alerts").json()["rows"]
    assert rows
    for row in rows:
        assert client.get(row["url"]).status_code == 200, row
    page = text(client.get("/alerts"))
    assert ("Map to a team" in page) == (name == "ana")
    assert ("See namespaces" in page) == (name == "fin")


def test_every_alert_of_a_gpu_leads_to_its_page(sign_in: SignIn) -> None:
    """Also one whose name no address can contain."""
    alert = Alert.objects.get(pk=number())
    alert.pk, alert.rule, alert.key = None, AlertRule.HOT, "x"
    alert.place, alert.query, alert.team = ["a\nb"], {}, None
    alert.save()
    assert sign_in("ana").get(f"/api/v1/alerts/{alert.pk}").json()["url"] == "/alerts"


def test_rules_say_what_would_have_fired_and_what_is_not_watched(
    sign_in: SignIn, story: Story
) -> None:
    look(AlertRule.HOT, lambda: NOW)
    page = text(sign_in("ana").get("/alerts/rules"))
    for words in RULES.values():
        assert words.label in page
    assert "alerts would have fired" in page
    assert "Not watched: DCGM_FI_DEV_FB_FREE is not read." in page
    main, _, others = page.partition("These rules cannot fire")
    assert "Not watched: DCGM_FI_DEV_GPU_TEMP is not scraped." in others
    assert "Hot GPU" not in main
    assert "A GPU reaches 85 °C" in others
    unknown = "Fires only if DCGM_FI_DEV_ECC_DBE_VOL_TOTAL is scraped."
    assert unknown in page
    DataIssue.objects.create(
        cluster=story.cluster,
        code="gpu_ecc",
        subject="GPU-1",
        first_seen=NOW,
        last_seen=NOW,
        resolved_at=NOW,
    )
    look(AlertRule.ECC, lambda: NOW)
    assert unknown not in text(sign_in("ana").get("/alerts/rules"))
    check = AlertCheck.objects.get(rule=AlertRule.IDLE)
    assert check.past_on == NOW.date()
    form = text(sign_in("ana").get("/alerts/rules/idle"))
    times = sum(sum(days.values()) for days in check.past["120"].values())
    assert times > 1
    assert f"2 h: {times} times in 30 days" in form
    assert "Thresholds of Idle GPUs" in form


def test_an_administrator_chooses_another_threshold(sign_in: SignIn) -> None:
    ana = sign_in("ana")
    given = {"value": "480", "reason": REASON}
    page = text(ana.post("/alerts/rules/idle", given, follow=True))
    assert "The threshold of “Idle GPUs” is saved." in page
    assert "Held and idle for 8 h" in page
    assert AlertThreshold.objects.get().value == 480
    event = apps.get_model("scheduler_view.AlertThresholdEvent").objects.get()
    assert (event.value, event.pgh_context.metadata["reason"]) == (480, REASON)
    assert ana.post("/alerts/rules/idle", {**given, "value": "7"}).status_code == 422
    assert ana.post("/alerts/rules/idle", {"value": "60"}).status_code == 422
    off = text(ana.post("/alerts/rules/idle", {**given, "value": "off"}, follow=True))
    assert "Off Held and idle for" in off
    look(AlertRule.IDLE, lambda: NOW)
    assert set(
        Alert.objects.filter(rule="idle").values_list("resolution", flat=True)
    ) == {"off"}


def test_a_lead_chooses_for_their_team_alone(sign_in: SignIn, story: Story) -> None:
    luis, given = sign_in("luis"), {"value": "30", "reason": REASON}
    page = text(luis.get("/alerts/rules"))
    assert "Rules of Vision" in page
    assert "Data late" not in page
    assert luis.post("/alerts/rules/idle", given).status_code == 403
    assert luis.post("/alerts/rules/late?team=vision", given).status_code == 404
    assert luis.post("/alerts/rules/full", given).status_code == 404
    page = text(luis.post("/alerts/rules/idle?team=vision", given, follow=True))
    assert "Own threshold of Vision" in page
    assert AlertThreshold.objects.get().team == story.teams["vision"]
    assert "Own threshold" not in text(sign_in("ana").get("/alerts/rules"))
    assert sign_in("fin").post("/alerts/rules/idle", given).status_code == 403


def test_a_team_takes_the_threshold_of_the_organization_again(
    sign_in: SignIn,
) -> None:
    """Also an alert that this ends says that its threshold was changed."""
    luis, form = sign_in("luis"), "/alerts/rules/idle?team=vision"
    lasted = to_ms(NOW) - 90 * 60_000
    IdleHold.objects.filter(pod__workload__name=MARA).update(
        since_ms=lasted, idle_ms=90 * 60_000
    )
    luis.post(form, {"value": "60", "reason": REASON})
    look(AlertRule.IDLE, lambda: NOW)
    assert Alert.objects.get(pk=number()).resolved_at is None
    page = luis.get(form).content.decode()
    assert "As the organization: 2 h" in page
    given = {"value": "organization", "reason": REASON}
    page = text(luis.post(form, given, follow=True))
    assert "Own threshold" not in page
    assert AlertThreshold.objects.get().is_own is False
    look(AlertRule.IDLE, database_now)
    assert Alert.objects.get(pk=number()).resolution == "threshold"
    assert "This is the threshold of the organization." in text(luis.get(form))
    ana = sign_in("ana")
    assert ana.post("/alerts/rules/idle", given).status_code == 422
    assert "As the organization" not in text(ana.get("/alerts/rules/idle"))


def test_who_may_archive_over_rest(sign_in: SignIn) -> None:
    luis = sign_in("luis")
    answer = luis.post(
        f"/api/v1/alerts/{number()}/archive",
        {"reason": REASON},
        content_type="application/json",
    )
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["archived_reason"]) == (
        "archived",
        REASON,
    )


@pytest.mark.parametrize(
    ("rule", "amount", "figure", "shown"),
    [
        ("budget", None, 72, "72 GPU-h expected over"),
        ("budget", 72, 72, "€72.00 expected over"),
        ("waste", 72, 72, "€72.00 in seven days"),
        ("spend", 72, 72, "€72.00 above what was expected"),
        ("issue", 72, 72, "€72.00 at stake"),
        ("hot", None, 72, "72 °C peak"),
        ("wait", None, 8_340_000, "2 h 19 min waiting"),
        ("drift", None, 72, "different"),
    ],
)
def test_each_figure_says_what_it_is(
    sign_in: SignIn, rule: str, amount: int | None, figure: int, shown: str
) -> None:
    alert = Alert.objects.get(pk=number())
    alert.pk, alert.key, alert.rule = None, rule, rule
    alert.amount, alert.figure, alert.place = amount, Decimal(figure), [1]
    alert.per_hour = None
    alert.save()
    assert shown in text(sign_in("ana").get(f"/alerts?rule={rule}"))


def test_hostile_names_are_text(sign_in: SignIn) -> None:
    Alert.objects.filter(pk=number()).update(what="<script>alert(1)</script>")
    page = sign_in("luis").get("/alerts").content.decode()
    assert "<script>alert(1)" not in page
