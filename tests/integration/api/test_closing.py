"""Closing, overriding and reopening a month over REST (money.md M27-M30, M47).

One story: 428 and 412 before a close, a refusal with each check, 202 and its progress, overrides
and reopening by two people, a key that is used twice, rights by role and scope. Not here: what a
close freezes (tests/integration/months), and the same on pages
(tests/browser/months/test_months.py).
"""

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from accounting.access.models.teams import Team
from accounting.kit.models.idempotency import IdempotencyKey
from accounting.months.models.close import CloseOverride
from accounting.months.models.entry import Entry
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks.running import book_running
from accounting.tasks import close_months
from tests.integration.api.conftest import Ask, problem
from tests.integration.conftest import NOW, SignIn

REASON = {"reason": "Agreed in the monthly review."}
OCTOBER = "periods/2026-10"
STAYS = (  # addresses of a month that is opened again
    "/api/v1/periods/2026-10",
    "/api/v1/charges?period=2026-10",
    "/api/v1/charges?from=2026-10-01&to=2026-11-01",
    "/api/v1/statements?period=2026-10",
    "/api/v1/statements/vision/2026-10",
    "/charges?period=2026-10",
    "/months",
    "/months/2026-10",
    "/months/2026-10/files/focus?format=csv",
    "/statements/vision/2026-10",
)


@pytest.fixture(autouse=True)
def right_after_the_story() -> Iterator[None]:
    """The process clock stands still; the story's newest window has just ended."""
    with time_machine.travel(NOW, tick=False):
        yield


def post(
    ask: Ask,
    name: str,
    address: str,
    body: dict[str, Any] | None = None,
    **headers: str,
) -> Any:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return ask(name).post(
        f"/api/v1/{address}", body or {}, content_type="application/json", headers=named
    )


def version(ask: Ask) -> str:
    found: str = ask("fin").get(f"/api/v1/{OCTOBER}").headers["ETag"]
    return found


def progress(ask: Ask) -> dict[str, Any]:
    found: dict[str, Any] = ask("fin").get(f"/api/v1/{OCTOBER}/close").json()
    return found


def overridden(ask: Ask) -> None:
    """Two people override whatever blocks."""
    checks = ask("fin").get(f"/api/v1/{OCTOBER}/checks").json()["checks"]
    for code in [one["code"] for one in checks if one["level"] == "block"]:
        made = post(ask, "fin", f"{OCTOBER}/overrides", REASON | {"check": code})
        assert made.status_code == 201
        address = f"overrides/{made.json()['id']}/confirm"
        alone = post(ask, "fin", address)
        assert alone.status_code == 403
        assert "another person must confirm" in problem(alone)["detail"]
        confirmed = post(ask, "ana", address)
        assert confirmed.json()["confirmed_by"] == "ana"
        assert post(ask, "ana", address).status_code == 409  # already confirmed
    assert not ask("fin").get(f"/api/v1/{OCTOBER}/checks").json()["blocks"]


def test_a_month_is_closed_and_opened_again_by_programs(
    ask: Ask, sign_in: SignIn
) -> None:
    book_running("2026-10")
    missing = post(ask, "fin", f"{OCTOBER}/close")
    assert missing.status_code == 428
    assert "If-Match" in problem(missing)["detail"]
    wrong = post(ask, "fin", f"{OCTOBER}/close", If_Match='"other"')
    assert problem(wrong)["status"] == 412
    assert progress(ask)["state"] == "none"
    blocked = post(ask, "fin", f"{OCTOBER}/close", If_Match=version(ask))
    assert blocked.status_code == 202
    close_months()
    refused = progress(ask)
    assert refused["state"] == "refused"
    assert "2026-10 cannot be closed" in refused["error"]
    assert refused["blocking"]
    for one in refused["blocking"]:
        assert {"code", "detail", "value", "threshold", "unit", "link"} == set(one)
    overridden(ask)

    tag = version(ask)
    keyed = {"If_Match": tag, "Idempotency_Key": "close-1"}
    queued = post(ask, "fin", f"{OCTOBER}/close", None, **keyed)
    assert queued.status_code == 202, queued.content
    assert queued.headers["Location"] == f"/api/v1/{OCTOBER}/close"
    assert (queued.json()["state"], queued.json()["requested_by"]) == ("queued", "fin")
    again = post(ask, "fin", f"{OCTOBER}/close", None, **keyed)
    assert (again.status_code, again.json()) == (202, queued.json())
    assert again.headers["Location"] == queued.headers["Location"]
    second = post(ask, "ana", f"{OCTOBER}/close", If_Match=tag)
    assert problem(second)["status"] == 409
    assert "fin requested the close of 2026-10 at" in problem(second)["detail"]
    close_months()
    stored = PeriodRevision.objects.get(period="2026-10")
    closed = progress(ask)
    assert (closed["state"], closed["hash"]) == ("closed", stored.hash)
    assert (closed["closed_by"], closed["error"], closed["blocking"]) == (
        "fin",
        None,
        [],
    )
    third = post(ask, "ana", f"{OCTOBER}/close", If_Match=tag)  # it is closed already
    assert (third.status_code, third.json()["hash"]) == (200, stored.hash)
    shown = ask("fin").get("/api/v1/statements/vision/2026-10").json()["overrides"]
    assert shown
    assert {one["override"]["reason"] for one in shown} == {REASON["reason"]}

    reopened(ask, sign_in, stored.hash, tag)


def reopened(ask: Ask, sign_in: SignIn, closed_hash: str, tag: str) -> None:
    """Two people open the closed month again; `tag` is its version before the close."""
    stale = post(ask, "fin", f"{OCTOBER}/reopen", REASON, If_Match=tag)
    assert stale.status_code == 412
    tag = f'"{closed_hash}"'
    asked = post(ask, "fin", f"{OCTOBER}/reopen", REASON, If_Match=tag)
    assert asked.status_code == 201
    address = f"{OCTOBER}/reopen/{asked.json()['id']}/confirm"
    assert post(ask, "fin", address).status_code == 403
    assert post(ask, "ana", address.replace("10/", "11/")).status_code == 404
    opened = post(ask, "ana", address).json()
    assert (opened["state"], opened["revisions"][0]["hash"]) == (
        "settling",
        closed_hash,
    )
    assert (opened["revision"], opened["hash"]) == (2, None)
    assert opened["payable"] is not None
    pages = sign_in("fin")
    for one in STAYS:  # at once: who follows a link finds its month
        client = ask("fin") if one.startswith("/api/") else pages
        assert client.get(one).status_code == 200, one
    listed = ask("fin").get(f"/api/v1/{OCTOBER}/reopen").json()["rows"]
    assert [one["confirmed_by"] for one in listed] == ["ana"]
    old = ask("fin").get("/api/v1/charges?period=2026-10&revision=1")
    assert old.headers["ETag"] == tag


def test_what_is_closed_is_what_was_read(ask: Ask) -> None:
    """An entry that comes after the month was read is not closed unseen."""
    book_running("2026-10")
    overridden(ask)
    tag = version(ask)
    Entry.objects.create(
        number="E-77",
        kind="credit",
        team=Team.objects.get(slug="vision"),
        billing_on="2026-10-05",
        amount="-5.00",
        currency="EUR",
        reason=REASON["reason"],
        author=User.objects.get(username="fin"),
    )
    late = post(ask, "fin", f"{OCTOBER}/close", If_Match=tag)
    assert late.status_code == 202  # what its statements come to is not computed yet
    close_months()
    assert not PeriodRevision.objects.get(period="2026-10").is_closed
    refused = progress(ask)
    assert (refused["state"], refused["blocking"]) == ("refused", [])
    assert "amounts of the month have changed" in refused["error"]
    now = version(ask)  # it was computed again: the entry is in it
    assert now != tag
    keyed = {"If_Match": tag, "Idempotency_Key": "close-2"}
    stale = post(ask, "fin", f"{OCTOBER}/close", None, **keyed)
    assert problem(stale)["status"] == 412
    assert not IdempotencyKey.objects.exists()  # a refused request stores no key
    keyed["If_Match"] = now
    assert post(ask, "fin", f"{OCTOBER}/close", None, **keyed).status_code == 202
    close_months()
    assert progress(ask)["state"] == "closed"


def test_times_of_a_month_are_utc_with_and_without_a_booking(ask: Ask) -> None:
    def times() -> tuple[str, str]:
        row = ask("fin").get(f"/api/v1/{OCTOBER}").json()
        return row["starts_at"], row["ends_at"]

    unbooked = times()
    assert unbooked == ("2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z")
    book_running("2026-10")
    assert times() == unbooked


def test_a_month_is_checked_as_its_close_would(ask: Ask) -> None:
    """The check computes the month again, so that its version can be closed."""
    stale = book_running("2026-10")
    overridden(ask)
    Entry.objects.create(
        number="E-78",
        kind="adjustment",
        team=Team.objects.get(slug="vision"),
        billing_on="2026-10-05",
        amount="7.00",
        currency="EUR",
        reason=REASON["reason"],
        author=User.objects.get(username="fin"),
    )
    checked = post(ask, "fin", f"{OCTOBER}/check", Idempotency_Key="check-1")
    assert (checked.status_code, checked.json()["blocks"]) == (200, False)
    assert checked.headers["ETag"] == version(ask)
    running = PeriodRevision.objects.get(pk=stale.pk)
    assert running.booked_at >= stale.booked_at
    shown = ask("fin").get("/api/v1/statements/vision/2026-10").json()
    assert shown["entries"] == "7.000000"
    again = post(ask, "fin", f"{OCTOBER}/check", Idempotency_Key="check-1")
    assert again.headers["ETag"] == checked.headers["ETag"]
    keyed = {"If_Match": checked.headers["ETag"]}
    assert post(ask, "fin", f"{OCTOBER}/close", **keyed).status_code == 202
    close_months()
    closed = ask("fin").get(f"/api/v1/{OCTOBER}")
    assert closed.json()["state"] == "closed"
    kept = post(ask, "fin", f"{OCTOBER}/check")  # as they were at the close
    assert kept.json()["checks"] == closed.json()["checks"]
    assert kept.headers["ETag"] == closed.headers["ETag"]
    codes = [one["code"] for one in checked.json()["checks"]]
    assert [one["code"] for one in kept.json()["checks"]] == codes
    early = post(ask, "fin", "periods/2026-11/check").json()
    assert "over" in {c["code"] for c in early["checks"] if c["level"] == "block"}
    for name in ("mia", "luis"):
        assert post(ask, name, f"{OCTOBER}/check").status_code == 404
    reader = ask("fin", scopes=("read:periods",))
    assert reader.post(f"/api/v1/{OCTOBER}/check").status_code == 403


def test_wrong_requests_are_named(ask: Ask) -> None:
    book_running("2026-10")
    short = post(
        ask, "fin", f"{OCTOBER}/overrides", {"check": "coverage", "reason": "x"}
    )
    assert problem(short)["errors"][0]["pointer"] == "#/reason"
    unknown = post(ask, "fin", f"{OCTOBER}/overrides", REASON | {"check": "colour"})
    assert problem(unknown)["errors"][0]["pointer"] == "#/check"
    fixed = post(ask, "fin", f"{OCTOBER}/overrides", REASON | {"check": "order"})
    assert problem(fixed)["status"] == 409
    early = post(
        ask,
        "fin",
        "periods/2026-11/close",
        If_Match=ask("fin").get("/api/v1/periods/2026-11").headers["ETag"],
    )
    assert "over" in {one["code"] for one in problem(early)["errors"]}
    for address in ("periods/2019-01/close", "overrides/999999/confirm"):
        assert post(ask, "fin", address, If_Match='"x"').status_code == 404
    assert post(ask, "fin", "periods/2026-99/close").status_code == 400


def test_only_finance_and_administrators_close(ask: Ask) -> None:
    book_running("2026-10")
    for name in ("omar", "mia", "luis"):
        for verb in ("close", "overrides", "reopen"):
            assert post(ask, name, f"{OCTOBER}/{verb}", REASON).status_code == 404
    reader = ask("fin", scopes=("read:periods",))
    assert reader.get(f"/api/v1/{OCTOBER}").status_code == 200
    refused = reader.post(f"/api/v1/{OCTOBER}/close", headers={"If-Match": '"x"'})
    assert problem(refused)["status"] == 403


def test_a_key_is_of_one_person_address_and_body(ask: Ask) -> None:
    book_running("2026-10")
    body = REASON | {"check": "coverage"}
    checks = ask("fin").get(f"/api/v1/{OCTOBER}/checks").json()["checks"]
    body["check"] = next(
        one["code"]
        for one in checks
        if one["level"] == "block" and one["is_overridable"]
    )
    key = {"Idempotency_Key": "once"}
    first = post(ask, "fin", f"{OCTOBER}/overrides", body, **key)
    same = post(ask, "fin", f"{OCTOBER}/overrides", body, **key)
    assert (first.status_code, same.status_code) == (201, 201)
    assert first.json() == same.json()
    assert CloseOverride.objects.count() == 1
    other = body | {"reason": "Another reason, the same key."}
    reused = post(ask, "fin", f"{OCTOBER}/overrides", other, **key)
    assert problem(reused)["status"] == 422
    assert post(ask, "ana", f"{OCTOBER}/overrides", body, **key).status_code == 201
    long = post(ask, "fin", f"{OCTOBER}/overrides", body, Idempotency_Key="k" * 201)
    assert problem(long)["status"] == 400
