"""Rate limits: a problem document that says when to come back, and nobody else's limit."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from portal.throttles import AnonymousThrottle, PersonThrottle
from tests.integration.api.conftest import Ask, problem


@pytest.fixture(autouse=True)
def three_a_minute(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three requests a minute for everybody."""
    for throttle in (AnonymousThrottle, PersonThrottle):
        monkeypatch.setattr(throttle, "rate", "3/min", raising=False)
    cache.clear()
    yield
    cache.clear()


def test_too_many_requests_of_one_person(ask: Ask) -> None:
    client = ask("luis")
    answers = [client.get("/api/v1/teams") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    document = problem(answers[-1])
    assert document["title"] == "Too many requests"
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    assert ask("luis").get("/api/v1/teams").status_code == 429  # another token of his
    assert ask("mia").get("/api/v1/teams").status_code == 200


def test_too_many_requests_without_a_token(ask: Ask) -> None:
    client = ask("")
    codes = [client.get("/api/v1/schema").status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    assert ask("luis").get("/api/v1/teams").status_code == 200


def test_a_refusal_uses_up_no_requests(ask: Ask) -> None:
    """Who is not signed in is told so, however often: there is nothing to guess fast."""
    codes = {ask("").get("/api/v1/teams").status_code for _ in range(5)}
    assert codes == {401}
