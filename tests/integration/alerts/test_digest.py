"""Who is told of alerts, when, and with which figures, on a scripted fleet.

Not here: when rules fire (test_fired.py), how mail is sent (`notifications`), a worker that is
killed (test_digest_killed.py).
"""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from pytest_django import Settings

from accounting.access.models.people import Membership, OrganizationRole, Person
from accounting.kit import failpoints
from accounting.kit.locks import lock
from accounting.metering.models.ledger import DataIssue
from accounting.notifications.models import Notification
from portal.digest.send import tell, tell_everybody
from scheduler_view.alerts.models import Alert, AlertTold
from scheduler_view.alerts.rules.catalogue import AlertRule
from scheduler_view.alerts.tasks import look
from scheduler_view.idle.models import IdleHold
from tests.integration.alerts.test_fired import UUID, at_data_of, issue
from tests.integration.months.people import lead_of, person
from tests.integration.savings.fleet import HOUR, START, Fleet, make_fleet

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
FIRED = START + 2 * HOUR  # when holders that are idle from the start on fire


@pytest.fixture(autouse=True)
def address(settings: Settings) -> None:
    """Where people open the product."""
    settings.PUBLIC_URL = "https://gpu.example.org"


@pytest.fixture
def fleet() -> Fleet:
    """A fleet, with a lead of each team and an administrator."""
    made = make_fleet(START + DAY)
    lead_of("vision", "luis")
    lead_of("search", "sara")
    person("ana", OrganizationRole.ADMIN)
    return made


def fired(fleet: Fleet, *teams: str) -> None:
    """One holder of each of these teams has been idle for two hours."""
    for team in teams:
        fleet.hold(f"of-{team}", "i" * 24, "i" * 24, is_open=True, team=team)
    look_at(at_data_of(fleet, FIRED))


def look_at(at: datetime, rule: AlertRule = AlertRule.IDLE) -> None:
    look(rule, lambda: at)


def told(at: datetime) -> list[str]:
    """Who gets a mail at that time, by their names."""
    before = {*Notification.objects.values_list("pk", flat=True)}
    count = tell_everybody(lambda: at)
    made = Notification.objects.exclude(pk__in=before)
    names = sorted(made.values_list("person__username", flat=True))
    assert len(names) == count
    return names


def mail_to(name: str) -> Notification:
    return Notification.objects.get(person__username=name)


def test_an_alert_is_told_after_three_minutes_with_its_figures(fleet: Fleet) -> None:
    fired(fleet, "vision")
    assert told(FIRED) == []
    assert told(FIRED + 3 * MINUTE - timedelta(seconds=1)) == []
    assert told(FIRED + 3 * MINUTE) == ["ana", "luis"]
    mail = mail_to("luis")
    assert mail.kind == "alert"
    what = "of-vision holds 2 H100 80 GB and is idle"
    assert mail.subject == f"1 alert: {what}, $10.00"
    hold = IdleHold.objects.get().pk
    link = f"https://gpu.example.org/idle/{hold}/ask"
    for line in (
        "1 alert needs you.",
        what,
        "  $10.00 so far, $5.00 an hour",
        f"  Ask the owner: {link}",
        "Open alerts: https://gpu.example.org/alerts",
        "You get this at most once an hour, because you lead a team.",
        "Stop this mail: https://gpu.example.org/account/notifications",
    ):
        assert line in mail.text.splitlines()
    assert re.search(
        r"^  New · since \w+ .* · Vision · lab on waste$", mail.text, re.MULTILINE
    )
    assert f'href="{link}"' in mail.html
    assert "because you see every team" in mail_to("ana").text


def test_a_lead_is_not_told_of_another_team(fleet: Fleet) -> None:
    Membership.objects.create(
        user=User.objects.get(username="sara"),
        team=fleet.teams["vision"],
        role="viewer",
    )
    fired(fleet, "vision")
    issue(fleet, "gpu_ecc", UUID)  # nobody's
    look_at(FIRED, AlertRule.ECC)
    assert told(FIRED + HOUR) == ["ana", "luis"]
    assert "2 alerts: " in mail_to("ana").subject
    assert UUID in mail_to("ana").text
    assert UUID not in mail_to("luis").text


def test_what_is_resolved_or_archived_before_is_not_told(fleet: Fleet) -> None:
    fired(fleet, "vision", "search")
    Alert.objects.filter(team__slug="search").update(archived_figure=Decimal(5))
    Alert.objects.filter(team__slug="vision").update(
        resolved_at=FIRED + MINUTE, resolution="gone"
    )
    assert told(FIRED + HOUR) == []


def test_one_mail_tells_all_and_the_next_one_comes_an_hour_later(fleet: Fleet) -> None:
    fired(fleet, "vision")
    assert "luis" in told(FIRED + 3 * MINUTE)
    fleet.hold("later", "i" * 36, is_open=True)
    look_at(at_data_of(fleet, START + 3 * HOUR))
    assert told(FIRED + 62 * MINUTE) == []
    assert told(FIRED + 63 * MINUTE) == ["ana", "luis"]
    newest = Notification.objects.filter(person__username="luis").first()
    assert newest is not None
    assert newest.subject.startswith("1 alert: later ")
    assert told(FIRED + 3 * HOUR) == []


def test_what_is_worse_or_back_again_is_told_again(fleet: Fleet) -> None:
    fired(fleet, "vision")
    assert told(FIRED + HOUR)
    alert = Alert.objects.get()
    later = FIRED + 2 * DAY
    Alert.objects.update(mark="worse", marked_at=later)
    assert told(later + 5 * MINUTE) == ["ana", "luis"]
    Alert.objects.update(resolved_at=later + HOUR)
    alert.refresh_from_db()
    assert told(later + 2 * HOUR) == []
    again = later + 3 * HOUR
    Alert.objects.update(mark="again", marked_at=again, resolved_at=None)
    assert told(again + 5 * MINUTE) == ["ana", "luis"]
    mails = Notification.objects.filter(person__username="luis")
    words = [
        re.findall(r"(New|Worse|Back again) · since .* · Vision", one.text)
        for one in mails
    ]
    assert words == [["Back again"], ["Worse"], ["New"]]
    assert AlertTold.objects.count() == 2  # one row for each person and alert


def test_who_turned_it_off_or_is_deactivated_is_not_told(fleet: Fleet) -> None:
    Person.objects.filter(user__username="luis").update(muted=["alert"])
    User.objects.filter(username="ana").update(is_active=False)
    person("mia", OrganizationRole.NONE)
    fired(fleet, "vision")
    assert told(FIRED + HOUR) == []
    Person.objects.update(muted=["weekly"])
    assert told(FIRED + HOUR) == ["luis"]


def test_ten_thousand_alerts_are_one_mail(fleet: Fleet) -> None:
    Alert.objects.bulk_create(
        Alert(
            rule=AlertRule.ISSUE,
            key=str(n),
            what=f"Fault {n}",
            amount=Decimal(n),
            currency="USD",
            figure=Decimal(n),
            **dict.fromkeys(("since", "fired_at", "seen_at", "marked_at"), FIRED),
            marked_figure=Decimal(n),
            mark="new",
        )
        for n in range(10_000)
    )
    del fleet
    assert told(FIRED + 3 * MINUTE) == ["ana"]
    mail = mail_to("ana")
    assert mail.subject == "10,000 alerts: Fault 9999, $9,999.00"
    assert "and 9,950 more" in mail.text
    assert "and 9,950 more" in mail.html
    assert mail.text.count("Fault ") == 50
    assert told(FIRED + 2 * HOUR) == []


def test_two_workers_write_one_mail(fleet: Fleet) -> None:
    fired(fleet, "vision")
    luis = User.objects.get(username="luis")
    with transaction.atomic():
        lock("digests", luis.pk)
        assert ThreadPoolExecutor(1).submit(_elsewhere, luis).result() is False
    assert "luis" in told(FIRED + HOUR)
    assert not tell(luis, lambda: FIRED + HOUR)
    assert not tell(luis, lambda: FIRED + 3 * HOUR)


def _elsewhere(user: User) -> bool:
    """What another worker does: nothing, as the person is being told."""
    try:
        return tell(user, lambda: FIRED + HOUR)
    finally:
        connection.close()


def test_a_mail_that_fails_is_written_with_the_next_run(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired(fleet, "vision")
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "_ARMED", "alerts_told:raise")
        assert told(FIRED + HOUR) == []
    assert not AlertTold.objects.exists()
    assert told(FIRED + HOUR) == ["ana", "luis"]


def test_a_clock_that_goes_back_loses_nothing(fleet: Fleet) -> None:
    fired(fleet, "vision")
    assert told(FIRED + 3 * MINUTE)
    issue(fleet, "gpu_ecc", UUID)
    look_at(FIRED - 5 * HOUR, AlertRule.ECC)
    assert told(FIRED - 5 * HOUR + 3 * MINUTE) == ["ana"]
    DataIssue.objects.create(
        cluster=fleet.cluster,
        code="gpu_ecc",
        subject="GPU-other",
        severity="error",
        message="Found.",
        first_seen=START,
        last_seen=START,
    )
    look_at(FIRED, AlertRule.ECC)
    assert told(FIRED - 5 * HOUR + 4 * MINUTE) == []
    assert told(FIRED + 3 * MINUTE) == ["ana"]
