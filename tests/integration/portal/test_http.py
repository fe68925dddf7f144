"""What every answer has, whatever the page: probes, policy, transport.

Skipped: who may see what (tests/integration/usage, tests/integration).
"""

import os
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

ROOT = Path(__file__).resolve().parents[3]


def test_liveness_asks_nothing_and_takes_any_host(client: Client) -> None:
    """Without the mark `django_db`, a query would fail this test."""
    answer = client.get("/healthz", headers={"host": "10.1.2.3:8000"})
    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db
@pytest.mark.redis
def test_readiness_names_the_parts(
    client: Client, settings: Settings, redis_url: str
) -> None:
    settings.REDIS_URL = redis_url
    answer = client.get("/readyz", headers={"host": "10.1.2.3:8000"})
    assert answer.status_code == 200
    assert answer.json() == {"postgres": True, "redis": True}
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"postgres": True, "redis": False}


@pytest.mark.django_db
def test_policy_allows_our_own_files_only(client: Client) -> None:
    answer = client.get("/sign-in")
    assert answer.status_code == 200
    rules = answer.headers["Content-Security-Policy"].split("; ")
    assert sorted(rules) == [
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data: blob:",
        "script-src 'self'",
        "style-src 'self'",
    ]
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_unknown_host_is_refused(client: Client) -> None:
    assert client.get("/sign-in", headers={"host": "evil.example"}).status_code == 400


def test_anonymous_people_are_sent_to_the_sign_in(client: Client) -> None:
    answer = client.get("/")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/sign-in?next=/"


@pytest.mark.parametrize("port", ["8000", "8003"])
def test_ledgers_on_one_machine_do_not_share_cookies(tmp_path: Path, port: str) -> None:
    """A browser sends the cookies of 127.0.0.1 to each of its ports."""
    code = (
        "from portal import settings as s\n"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={
            **os.environ,
            "GPU_LEDGER_HOME": str(tmp_path),
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == [f"session-{port}", f"csrf-{port}"]


def test_production_passes_the_deployment_checklist(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "GPU_LEDGER_LOCAL": "0",
        "GPU_LEDGER_HOME": str(tmp_path),
        "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "PUBLIC_URL": "https://gpu.example.org",
    }
    code = (
        "from django.conf import settings as s\n"
        "assert s.SESSION_COOKIE_NAME == '__Host-session' and s.SESSION_COOKIE_SECURE\n"
        "assert s.CSRF_COOKIE_NAME == '__Host-csrf' and s.CSRF_COOKIE_SECURE\n"
        "assert s.ALLOWED_HOSTS == ['gpu.example.org'] and s.SECURE_SSL_REDIRECT\n"
        "assert 'Manifest' in s.STORAGES['staticfiles']['BACKEND']\n"
    )
    for words in (
        ["manage.py", "check", "--deploy", "--fail-level=WARNING"],
        ["-c", code],
    ):
        found = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr + found.stdout


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/account", {}),
        ("/teams?csv=teams", {}),
        ("/no-such-page", {}),
        ("/freshness", {"HX-Request": "true"}),
        ("/teams?q=%00", {}),
        ("/api/v1/usage", {}),
        ("/api/v1/usage", {"Accept": "text/csv"}),
        ("/api/v1/ledger", {}),
    ],
)
def test_what_a_person_sees_is_kept_nowhere(
    admin_client: Client, path: str, headers: dict[str, str]
) -> None:
    answer = admin_client.get(path, headers=headers)
    assert "no-store" in answer.headers["Cache-Control"]


def test_static_files_are_kept(client: Client) -> None:
    answer = client.head("/static/css/tokens.css")
    assert answer.status_code == 200
    assert "max-age=" in answer.headers["Cache-Control"]
    assert "no-store" not in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("peer", "proto", "status"),
    [
        ("10.0.0.7", "https", 302),  # on to the sign-in
        ("10.0.0.7", "http", 301),  # to https first
        ("203.0.113.9", "https", 301),  # who came past the proxy is not believed
    ],
)
def test_https_is_believed_of_trusted_proxies(
    settings: Settings, peer: str, proto: str, status: int
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/24")]
    headers = {"X-Forwarded-Proto": proto}
    answer = Client(REMOTE_ADDR=peer, headers=headers).get("/")
    assert answer.status_code == status
