"""Requests while PostgreSQL is away, and while another change holds a lock: they can be repeated.

Aspects: pages, sign-in and REST, by the web server of containers; errors that do not end by
themselves. Not here: workers and commands (`test_services_lost.py`).
"""

import http.client
import json
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import (
    DataError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connection,
)

from accounting.access.models.people import Person
from accounting.organization.actions.tokens import create_token
from portal.http.unavailable import passing
from tests.integration.portal.web_server import web_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
ADDRESSES = ("/", "/teams", "/sign-in", "/api/v1/teams", "/api/v1/bills")


def test_postgresql_away_is_503_on_pages_rest_and_sign_in(
    transactional_db: None, redis_url: str, tmp_path: Path
) -> None:
    """The database takes no connections, and ends those that it has; then it is back."""
    del transactional_db
    user = get_user_model().objects.create_user("fin")
    Person.objects.create(user=user, role="finance")
    name = connection.settings_dict["NAME"]
    with web_server(redis_url, tmp_path, user) as web:
        assert web.get("/teams").status == 200
        with closing(connection.copy()) as other:
            other.settings_dict["NAME"] = "postgres"
            with other.cursor() as cursor:
                allow = f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS'
                end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                cursor.execute(f"{allow} false")
                try:
                    cursor.execute(end, [name])
                    found = {path: web.get(path) for path in ADDRESSES}
                finally:
                    cursor.execute(f"{allow} true")
        connection.close()  # it was ended too
        for path, answer in found.items():
            assert answer.status == 503, path
            assert answer.headers["Retry-After"] == "10"
            text = answer.text  # type: ignore[attr-defined]
            if path.startswith("/api/"):
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert '"status": 503' in text
            else:
                assert "The database does not respond" in text
        assert web.get("/healthz").status == 200
        assert web.get("/teams").status == 200


def test_a_lock_that_another_change_holds_is_409(
    transactional_db: None, redis_url: str, tmp_path: Path
) -> None:
    del transactional_db
    user = get_user_model().objects.create_user("ana")
    Person.objects.create(user=user, role="admin")
    _, token = create_token(owner=user, name="prices", scopes=["write:prices"])
    body = {
        "model": "NVIDIA-L40S",
        "rate_per_gpu_hour": "1.10",
        "valid_from": "2026-11-01T00:00Z",
        "reason": "A new contract.",
    }
    with web_server(redis_url, tmp_path, user) as web:

        def post() -> http.client.HTTPResponse:
            head = {
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
            }
            return web.ask("POST", "/api/v1/prices", json.dumps(body), head)

        with closing(connection.copy()) as other, other.cursor() as cursor:
            cursor.execute(
                "SELECT pg_advisory_lock(7112, 0)"
            )  # accounting/kit/locks.py
            refused = post()
        assert refused.status == 409
        assert refused.headers["Retry-After"] == "5"
        assert "Nothing was saved" in refused.text  # type: ignore[attr-defined]
        assert post().status == 201


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("SELECT 1 / 0", DataError),
        ("SELECT no_such_column", ProgrammingError),
        ("SET statement_timeout = 1; SELECT pg_sleep(1)", OperationalError),
    ],
)
def test_other_errors_of_the_database_are_ours(
    transactional_db: None, statement: str, error: type[Exception]
) -> None:
    del transactional_db
    with closing(connection.copy()) as other, other.cursor() as cursor:
        with pytest.raises(error) as found:
            cursor.execute(statement)
        assert passing(found.value) is None


def test_a_closed_cursor_is_ours(transactional_db: None) -> None:
    del transactional_db
    with connection.cursor() as cursor:
        pass
    with pytest.raises(InterfaceError) as found:
        cursor.execute("SELECT 1")
    assert passing(found.value) is None
