"""Expired sessions go once a day; those of people who are signed in stay."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from portal.celery import app
from portal.tasks import remove_expired_sessions
from portal.timetable import TIMETABLE


@pytest.mark.django_db
def test_expired_sessions_are_removed_and_others_stay() -> None:
    clients = [Client() for _ in range(3)]
    for number, client in enumerate(clients):
        client.force_login(get_user_model().objects.create_user(f"person-{number}"))
    keys = [client.session.session_key for client in clients]
    ended = Session.objects.filter(session_key__in=keys[:2])
    ended.update(expire_date=timezone.now() - timedelta(seconds=1))
    remove_expired_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == [keys[2]]
    assert clients[2].get("/account").status_code == 200
    assert clients[0].get("/account").status_code == 302


def test_the_clock_rings_for_tasks_that_there_are() -> None:
    app.loader.import_default_modules()
    rung = {entry["task"] for entry in TIMETABLE.values()}
    assert remove_expired_sessions.name in rung
    assert rung <= set(app.tasks)
