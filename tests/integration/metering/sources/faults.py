"""What a source can do wrong, and the error that each becomes."""

from dataclasses import dataclass

from accounting.metering.sources.errors import (
    AccessRefused,
    InvalidSourceResponse,
    SourceError,
    TooMuch,
    Unavailable,
)
from tests.builders import HOUR_ZERO, two_hours
from tests.integration.metering.sources.replay import Answer, Question, Script
from tests.integration.metering.sources.stand_in import StandIn, answer_of, error_of

TIMEOUT_S = 0.3
PAGE = b"<!doctype html><title>Sign in</title>"
GOOD = StandIn(two_hours().between(HOUR_ZERO, HOUR_ZERO + 5400))


@dataclass(frozen=True)
class Fault:
    """What the source does, the error it becomes and words of its message."""

    script: Script
    error: type[SourceError]
    words: tuple[str, ...]


def always(answer: Answer) -> Script:
    """A script with one answer to everything."""
    return lambda _: answer


def half(question: Question) -> Answer:
    """The first half of the right answer, as if it were whole."""
    body = GOOD(question).body
    return Answer(body=body[: len(body) // 2])


def odd_value(question: Question) -> Answer:
    """A sample whose value is no number."""
    result = GOOD.result(question)
    for series in result:
        series["values"][0][1] = "three"
    return answer_of(result)


FAULTS: dict[str, Fault] = {
    "hanging": Fault(
        always(Answer(is_silent=True)), TooMuch, ("no response within 0.3 s",)
    ),
    "slow": Fault(always(Answer(body=b" " * 200, drip_s=0.1)), TooMuch, ("too slow",)),
    "truncated": Fault(
        always(Answer(body=b'{"status"', length=9000)), Unavailable, ("truncated",)
    ),
    "400": Fault(
        always(error_of(400, "bad_data", "invalid parameter query")),
        InvalidSourceResponse,
        ("400", "invalid parameter"),
    ),
    "401": Fault(
        always(Answer(401, b"who are you?")), AccessRefused, ("401", "credentials")
    ),
    "403": Fault(always(Answer(403)), AccessRefused, ("403", "credentials")),
    "422": Fault(
        always(error_of(422, "execution", "too many samples")),
        TooMuch,
        ("422", "too many samples"),
    ),
    "429": Fault(
        always(Answer(429, b"slow down", {"Retry-After": "0"})),
        Unavailable,
        ("429", "slow down"),
    ),
    "500": Fault(always(Answer(500, b"oops")), Unavailable, ("500", "oops")),
    "503": Fault(
        always(Answer(503, b"starting up")), Unavailable, ("503", "starting up")
    ),
    "query timeout": Fault(
        always(error_of(503, "timeout", "query timed out")),
        TooMuch,
        ("503", "query timed out"),
    ),
    "web page": Fault(
        always(Answer(body=PAGE)),
        InvalidSourceResponse,
        ("not a Prometheus response", "html"),
    ),
    "half a JSON": Fault(half, InvalidSourceResponse, ("not a Prometheus response",)),
    "empty": Fault(
        always(Answer()), InvalidSourceResponse, ("not a Prometheus response",)
    ),
    "other JSON": Fault(
        always(Answer(body=b'{"status": "success"}')),
        InvalidSourceResponse,
        ("/api/v1/query",),
    ),
    "error in a 200": Fault(
        always(error_of(200, "internal", "disk on fire")),
        InvalidSourceResponse,
        ("disk on fire",),
    ),
    "no number": Fault(odd_value, InvalidSourceResponse, ("three",)),
    "a vector": Fault(
        always(answer_of([], data={"resultType": "vector", "result": []})),
        InvalidSourceResponse,
        ("vector",),
    ),
    "redirect": Fault(
        always(Answer(302, b"", {"Location": "http://elsewhere.example/"})),
        InvalidSourceResponse,
        ("redirects are not followed", "final address"),
    ),
}
