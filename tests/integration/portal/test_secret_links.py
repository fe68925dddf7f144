"""One-time links in the logs of the server: their secret is in none of them.

Aspects: what Django, django-structlog and gunicorn (its access log, too) write about a link that is
opened, refused or sent with a wrong method. Not here: what a link does (`test_sign_in.py`).
"""

from pathlib import Path
from urllib.parse import quote

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from accounting.kit.audit import SYSTEM
from accounting.organization.actions.people import password_ticket
from tests.integration.portal.web_server import web_server
from tests.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


def test_the_secret_of_a_link_is_in_no_log(
    transactional_db: None, redis_url: str, tmp_path: Path
) -> None:
    del transactional_db
    user = get_user_model().objects.create_user("fin")
    account, secret = password_ticket("fin", actor=SYSTEM)
    path = reverse("password-link", args=(account, secret))
    access = {"GUNICORN_CMD_ARGS": "--access-logfile=-", "LOG_LEVEL": "INFO"}
    with web_server(redis_url, tmp_path, user, seen=access) as web:
        for asked in (path, f"{path}/x", f"/sign-in/x?next={quote(path, safe='')}"):
            web.get(asked)
        with web.connect() as one:
            one.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert one.recv(4096)
        with web.connect() as one:  # gunicorn itself refuses it
            one.sendall(f"GET {path} HTTP/1.1\r\nHost : localhost\r\n\r\n".encode())
            assert one.recv(4096)
        wait_until(lambda: web.log.read_text().count("/welcome/") >= 6)
        text = web.log.read_text()
    assert secret not in text
    assert "PUT /welcome/" in text
    assert "Not Found: /welcome/" in text
    assert f"{secret[:8]}" not in text
