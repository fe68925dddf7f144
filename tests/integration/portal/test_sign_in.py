"""Sign-in: limits that lock nobody out, cost no password hash, and need no Redis; the record.

Skipped: what is on the page (tests/browser), the command (tests/integration/commands).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import BasePasswordHasher, get_hasher
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from pytest_django import Settings

from accounting.access.models.account import SignInLimit, SignInOutcome, SignInRecord
from accounting.access.models.people import Person
from accounting.organization.actions import sign_in_attempts
from accounting.organization.actions.sign_in_attempts import (
    PAUSE,
    PER_ACCOUNT,
    PER_ACCOUNT_AND_SITE,
    PER_DEVICE,
    PER_SITE,
)
from tests.page_html import html_of

PASSWORD = "correct horse battery staple"
HOME, AWAY = "192.0.2.1", "198.51.100.7"

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """Two people with a password, one without and one deactivated."""
    del db
    users = get_user_model().objects
    return {
        "ana": users.create_user("ana", password=PASSWORD),
        "ben": users.create_user("ben", password=PASSWORD),
        "eve": users.create_user("eve", password=PASSWORD, is_active=False),
        "new": users.create_user("new", password=None),
    }


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every password that a hash was computed of, in order."""
    asked: list[str] = []
    hasher = type(get_hasher())
    encode = hasher.encode  # what checking a password computes, too

    def count(self: BasePasswordHasher, password: str, *more: Any) -> str:
        asked.append(password)
        return encode(self, password, *more)

    monkeypatch.setattr(hasher, "encode", count)
    return asked


def attempt(
    name: str, password: str, *, client: Client | None = None, address: str = HOME
) -> Any:
    """What the form of a browser gets; a new browser where none is given."""
    answer: Any = (client or Client()).post(
        "/sign-in", {"username": name, "password": password}, REMOTE_ADDR=address
    )
    return answer


def later(by: timedelta) -> None:
    """As if so much time had gone by."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE accounting_signinlimit SET since = since - %s::interval", [str(by)]
        )
        cursor.execute(
            "UPDATE accounting_signinrecord SET last_at = last_at - %s::interval",
            [str(by)],
        )


def test_the_right_password_signs_in(people: dict[str, User]) -> None:
    client = Client()
    answer = attempt("ana", PASSWORD, client=client)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(people["ana"].pk)


@pytest.mark.parametrize(("role", "start"), [("finance", "/months"), ("admin", "/")])
def test_finance_starts_at_the_months(
    people: dict[str, User], role: str, start: str
) -> None:
    Person.objects.create(user=people["ben"], role=role)
    assert attempt("ben", PASSWORD).headers["Location"] == start


@pytest.mark.parametrize("name", ["eve", "new", "nobody"])
def test_who_cannot_sign_in_is_told_what_everybody_is_told(
    people: dict[str, User], name: str
) -> None:
    answer = attempt(name, PASSWORD)
    assert answer.status_code == 200
    assert "do not match an account" in html_of(answer)


def test_guesses_are_refused_without_a_hash_past_the_limit(
    people: dict[str, User], hashed: list[str]
) -> None:
    codes = [attempt("ana", f"guess {n}").status_code for n in range(20)]
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * (20 - PER_ACCOUNT_AND_SITE)
    assert len(hashed) == PER_ACCOUNT_AND_SITE
    refused = attempt("ana", PASSWORD)
    assert refused.status_code == 429  # the right one too: it was not looked at
    assert 0 < int(refused.headers["Retry-After"]) <= PAUSE.total_seconds()
    assert "Wait 15 minutes" in html_of(refused)


def test_names_that_no_account_has_are_limited_alike(
    people: dict[str, User], hashed: list[str]
) -> None:
    """Neither the answer nor its cost tells whether there is such an account."""
    codes = [attempt("nobody", f"guess {n}").status_code for n in range(8)]
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * 3
    assert len(hashed) == PER_ACCOUNT_AND_SITE


def test_a_browser_that_signed_in_before_gets_in_at_once(
    people: dict[str, User],
) -> None:
    browser = Client()
    attempt("ana", PASSWORD, client=browser)
    browser.post("/sign-out")
    for n in range(PER_SITE + 5):
        attempt("ana", f"guess {n}")  # a stranger, behind the same address
    assert attempt("ana", PASSWORD).status_code == 429
    assert attempt("ana", PASSWORD, client=browser).status_code == 302
    assert attempt("ben", PASSWORD, client=browser, address=AWAY).status_code == 302


def test_a_stranger_locks_out_nobody_who_comes_from_elsewhere(
    people: dict[str, User],
) -> None:
    for n in range(PER_ACCOUNT + PER_SITE):
        attempt("ana", f"guess {n}")
    assert attempt("ana", PASSWORD, address=AWAY).status_code == 302
    assert attempt("ben", PASSWORD).status_code == 302  # nor others at the same address


def test_the_pause_ends(people: dict[str, User]) -> None:
    for n in range(PER_ACCOUNT_AND_SITE + 3):
        attempt("ana", f"guess {n}")
    later(PAUSE - timedelta(minutes=1))
    assert attempt("ana", PASSWORD).status_code == 429
    later(timedelta(minutes=2))
    assert attempt("ana", PASSWORD).status_code == 302


def test_one_address_cannot_try_many_accounts(
    people: dict[str, User], hashed: list[str]
) -> None:
    codes = [attempt(f"name-{n}", "Summer2026!").status_code for n in range(40)]
    assert codes == [200] * PER_SITE + [429] * (40 - PER_SITE)
    assert len(hashed) == PER_SITE


def test_many_addresses_cannot_guess_one_account(
    people: dict[str, User], hashed: list[str]
) -> None:
    codes = [
        attempt("ana", "guess", address=f"203.0.113.{n}").status_code
        for n in range(PER_ACCOUNT + 10)
    ]
    assert codes == [200] * PER_ACCOUNT + [429] * 10


def test_a_network_of_ipv6_is_one_address(people: dict[str, User]) -> None:
    codes = [
        attempt("ana", "guess", address=f"2001:db8:1:2::{n:x}").status_code
        for n in range(1, 9)
    ]
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * 3


def test_a_stolen_device_cookie_has_a_limit_of_its_own(people: dict[str, User]) -> None:
    browser = Client()
    attempt("ana", PASSWORD, client=browser)
    browser.post("/sign-out")
    codes = [
        attempt("ana", f"guess {n}", client=browser).status_code for n in range(20)
    ]
    assert codes.count(200) == PER_DEVICE + PER_ACCOUNT_AND_SITE
    assert codes[-1] == 429


@pytest.mark.parametrize(
    "value", ["", "x", "eyJhIjoxfQ:forged:signature", r"\177" * 500]
)
def test_a_forged_device_cookie_is_none(
    people: dict[str, User], settings: Settings, value: str
) -> None:
    browser = Client(HTTP_COOKIE=f'{settings.DEVICE_COOKIE_NAME}="{value}"')
    codes = [attempt("ana", "guess", client=browser).status_code for _ in range(8)]
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * 3


def test_mistyping_and_getting_it_right_starts_anew(people: dict[str, User]) -> None:
    for _ in range(10):
        for n in range(PER_ACCOUNT_AND_SITE - 1):
            assert attempt("ana", f"typo {n}").status_code == 200
        assert attempt("ana", PASSWORD).status_code == 302
        later(timedelta(minutes=4))  # or the address is busy with typos


def test_limits_do_not_need_redis(people: dict[str, User], settings: Settings) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    codes = [attempt("ana", f"guess {n}").status_code for n in range(8)]
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * 3
    assert attempt("ben", PASSWORD).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_attempts_at_one_time_are_counted_one_by_one(
    hashed: list[str],
) -> None:
    """Thirty at once cost no more hashes than thirty in a row."""
    get_user_model().objects.create_user("ana", password=PASSWORD)
    hashed.clear()

    def one(number: int) -> int:
        try:
            return int(attempt("ana", f"guess {number}").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(one, range(30)))
    assert codes == [200] * PER_ACCOUNT_AND_SITE + [429] * 25
    assert len(hashed) == PER_ACCOUNT_AND_SITE
    [burst] = SignInRecord.objects.all()
    assert burst.count == 30


def test_a_hundred_guesses_leave_others_alone(
    people: dict[str, User], hashed: list[str]
) -> None:
    """Past the limit of one account none of them costs a hash."""
    for n in range(100):
        attempt("ana", f"guess {n}")
    assert len(hashed) == PER_ACCOUNT_AND_SITE
    begun = time.perf_counter()
    assert attempt("ben", PASSWORD).status_code == 302
    assert time.perf_counter() - begun < 5  # generous: the machine may be busy
    [burst] = SignInRecord.objects.filter(outcome=SignInOutcome.FAILED)
    assert (burst.account, burst.count) == ("ana", 100)


def test_sign_ins_and_bursts_of_failures_are_on_record(people: dict[str, User]) -> None:
    attempt("ana", PASSWORD)
    for n in range(3):
        attempt("ana", f"guess {n}", address=AWAY)
    for name in ("typed-my-passw0rd-here", "another"):
        attempt(name, "guess")
    later(2 * PAUSE)
    attempt("ana", "guess", address=AWAY)
    rows = SignInRecord.objects.order_by("id").values_list(
        "account", "outcome", "count", "address"
    )
    assert list(rows) == [
        ("ana", "signed-in", 1, HOME),
        ("ana", "failed", 3, AWAY),
        ("", "failed", 2, HOME),  # what was typed may be a password: it is not kept
        ("ana", "failed", 1, AWAY),
    ]


def test_counts_hold_no_names_and_are_removed(people: dict[str, User]) -> None:
    attempt("ana", "guess")
    keys = list(SignInLimit.objects.values_list("key", flat=True))
    assert len(keys) == 3
    assert all(len(key) == 64 for key in keys)
    assert sign_in_attempts.remove_old_limits() == 0
    later(2 * PAUSE)
    assert sign_in_attempts.remove_old_limits() == 3


def test_the_first_visitor_is_told_how_to_begin(db: None) -> None:
    page = html_of(Client().get("/sign-in"))
    assert "python manage.py person NAME --role admin" in page
    get_user_model().objects.create_user("ana", password=PASSWORD)
    assert "manage.py person" not in html_of(Client().get("/sign-in"))
