"""Rate limits: a problem document that says when to come back, and nobody else's limit.

Left out: limits of the sign-in page, which are not of the API.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
import structlog
import time_machine
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from structlog.testing import capture_logs

from portal.throttles import AnonymousThrottle, MinuteThrottle, PersonThrottle
from tests.integration.api.conftest import Ask, problem
from tests.ports import free_port

INSIDE_A_MINUTE = datetime(2026, 11, 20, 14, 35, 20, tzinfo=UTC)
WRONG = {"Authorization": "Bearer 0123456789abcdef"}
REDIS = "django.core.cache.backends.redis.RedisCache"


@pytest.fixture(autouse=True)
def three_a_minute(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three requests a minute for everybody, and 40 seconds left of it."""
    for throttle in (AnonymousThrottle, PersonThrottle):
        monkeypatch.setattr(throttle, "rate", "3/min", raising=False)
    monkeypatch.setattr(MinuteThrottle, "_silent_until", 0.0)
    _forget()
    with time_machine.travel(INSIDE_A_MINUTE, tick=False):
        yield
    _forget()


def _forget() -> None:
    for name in ("default", "process"):
        caches[name].clear()


def test_too_many_requests_of_one_person(ask: Ask) -> None:
    client = ask("luis")
    answers = [client.get("/api/v1/teams") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    document = problem(answers[-1])
    assert document["title"] == "Too Many Requests"
    assert answers[-1].headers["Retry-After"] == "40"
    assert ask("luis").get("/api/v1/teams").status_code == 429  # another token of his
    assert ask("mia").get("/api/v1/teams").status_code == 200


def test_the_limit_ends_when_the_answer_said(ask: Ask) -> None:
    client = ask("luis")
    for _ in range(4):
        answer = client.get("/api/v1/teams")
    later = int(INSIDE_A_MINUTE.timestamp()) + int(answer.headers["Retry-After"])
    with time_machine.travel(later, tick=False):
        assert client.get("/api/v1/teams").status_code == 200


def test_too_many_requests_without_a_token(ask: Ask) -> None:
    client = ask("")
    codes = [client.get("/api/v1/schema").status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    assert ask("luis").get("/api/v1/teams").status_code == 200


@pytest.mark.parametrize(
    ("method", "address", "headers", "refusal"),
    [
        ("GET", "/api/v1/teams", {}, 401),
        ("GET", "/api/v1/teams", WRONG, 401),
        ("GET", "/api/v1/teams", {"Authorization": "Bearer \xff\xfe"}, 401),
        ("POST", "/api/v1/teams", WRONG, 401),
        ("PUT", "/api/v1/usage", {}, 401),
        ("GET", "/api/v1/nothing-here", {}, 401),
        ("GET", "/api/v1/docs", {"Accept": "image/png"}, 406),
        ("POST", "/api/v1/schema", {}, 405),
    ],
)
def test_refusals_count_without_a_person(
    db: None,
    method: str,
    address: str,
    headers: dict[str, str],
    refusal: int,
) -> None:
    answers = [Client(headers=headers).generic(method, address) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [refusal] * 3 + [429]
    assert answers[-1].headers["Retry-After"] == "40"
    problem(answers[-1])


@pytest.mark.parametrize(
    ("method", "address", "refusal"),
    [
        ("get", "usage?by=colour", 400),
        ("get", "ledger", 404),
        ("get", "nothing-here", 404),
        ("post", "teams", 403),
        ("delete", "usage", 405),
    ],
)
def test_refusals_count_for_a_person(
    ask: Ask, method: str, address: str, refusal: int
) -> None:
    client = ask("luis")
    codes = [
        getattr(client, method)(f"/api/v1/{address}").status_code for _ in range(4)
    ]
    assert codes == [refusal] * 3 + [429]


def test_a_token_without_the_scope_counts(ask: Ask) -> None:
    client = ask("luis", scopes=("read:teams",))
    codes = [client.get("/api/v1/usage").status_code for _ in range(4)]
    assert codes == [403, 403, 403, 429]


def test_who_is_over_the_limit_costs_no_query(db: None) -> None:
    for _ in range(3):
        Client().get("/api/v1/schema")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert Client().get("/api/v1/schema").status_code == 429
    assert not asked.captured_queries


def test_wrong_tokens_of_others_lock_nobody_out(ask: Ask) -> None:
    """An office shares one address: only those without a valid token are refused."""
    for _ in range(5):
        Client(headers=WRONG).get("/api/v1/teams")
    assert Client(headers=WRONG).get("/api/v1/teams").status_code == 429
    assert ask("luis").get("/api/v1/teams").status_code == 200


def _codes(forwarded: list[str], peer: str) -> list[int]:
    return [
        Client(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=text)
        .get("/api/v1/schema")
        .status_code
        for text in forwarded
    ]


def test_a_forwarded_address_counts_from_a_trusted_proxy_only(
    db: None, settings: Settings
) -> None:
    invented = [f"198.51.100.{i}" for i in range(4)]
    assert _codes(invented, "203.0.113.9") == [200, 200, 200, 429]
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/24")]
    assert _codes(invented, "203.0.113.10") == [200, 200, 200, 429]
    assert _codes(invented, "10.0.0.7") == [200] * 4  # four clients
    chosen = [f"{one}, 192.0.2.1" for one in invented]  # the proxy adds the last
    assert _codes(chosen, "10.0.0.7") == [200, 200, 200, 429]


def test_one_site_of_ipv6_is_one_asker(db: None) -> None:
    near = [Client(REMOTE_ADDR=f"2001:db8:0:1::{i}") for i in range(4)]
    codes = [client.get("/api/v1/schema").status_code for client in near]
    assert codes == [200, 200, 200, 429]
    far = Client(REMOTE_ADDR="2001:db8:0:2::1")
    assert far.get("/api/v1/schema").status_code == 200


def test_logs_name_the_address_that_limits_count(db: None, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.7/32")]
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        Client(REMOTE_ADDR="203.0.113.9", HTTP_X_FORWARDED_FOR="6.6.6.6").get(
            "/api/v1/teams"
        )
        Client(REMOTE_ADDR="10.0.0.7", HTTP_X_FORWARDED_FOR="6.6.6.6").get(
            "/api/v1/teams"
        )
    seen = [line["ip"] for line in lines if line["event"] == "request_started"]
    assert seen == ["203.0.113.9", "6.6.6.6"]


@pytest.mark.redis
def test_requests_at_the_same_time_all_count(
    settings: Settings, redis_url: str
) -> None:
    settings.CACHES = settings.CACHES | {
        "default": {"BACKEND": REDIS, "LOCATION": redis_url, "KEY_PREFIX": "limits"}
    }
    _forget()
    throttles = [AnonymousThrottle() for _ in range(40)]
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda one: one._count("somebody"), throttles))
    assert sorted(counts) == list(range(1, 41))


def test_without_redis_each_process_counts(db: None, settings: Settings) -> None:
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    settings.CACHES = settings.CACHES | {
        "default": {"BACKEND": REDIS, "LOCATION": nobody}
    }
    caches["process"].clear()
    with capture_logs() as lines:
        codes = [Client().get("/api/v1/schema").status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    warned = [line for line in lines if "Redis does not respond" in line["event"]]
    assert len(warned) == 1  # and it is not asked again for a while
