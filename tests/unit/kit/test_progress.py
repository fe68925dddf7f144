"""What a long command says of how far it is, where nobody draws a bar."""

import io

import pytest
from django.core.management.base import OutputWrapper

from accounting.kit.commands.progress import EVERY_S, Progress, duration


class Clock:
    """A time that a test sets, in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_line_has_share_rate_and_time_left() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(OutputWrapper(out), clock) as progress:
        for done in range(0, 60, 10):  # ten each two seconds
            progress.tell("north: Computing windows", done, 600)
            clock.now += 2.0
    assert out.getvalue().splitlines() == [
        "north: Computing windows: 30 of 600 (5%), 5.0 per second, 1:54 left"
    ]


def test_a_line_comes_every_five_seconds() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(OutputWrapper(out), clock) as progress:
        for done in range(61):
            progress.tell("Reading", done, 100)
            clock.now += 1.0
    assert out.getvalue().count("\n") == 60 / (EVERY_S + 1)


def test_the_total_may_grow_and_the_time_left_with_it() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(OutputWrapper(out), clock) as progress:
        progress.tell("Computing", 0, 100)
        clock.now += 10
        progress.tell("Computing", 50, 100)
        clock.now += 10
        progress.tell("Computing", 100, 200)
    assert out.getvalue().splitlines() == [
        "Computing: 50 of 100 (50%), 5.0 per second, 0:10 left",
        "Computing: 100 of 200 (50%), 5.0 per second, 0:20 left",
    ]


def test_the_rate_is_that_of_a_step_and_of_the_last_minute() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(OutputWrapper(out), clock) as progress:
        progress.tell("Reading", 0, 10)
        clock.now += 3
        progress.tell("Reading", 9, 10)
        progress.tell("Computing", 0, 1000)  # another step: nothing is known of it
        clock.now += 100
        progress.tell("Computing", 100, 1000)  # one per second, long ago
        clock.now += 10
        progress.tell("Computing", 200, 1000)
    assert out.getvalue().splitlines() == [
        "Computing: 100 of 1000 (10%)",
        "Computing: 200 of 1000 (20%), 10 per second, 1:20 left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00"), (5, "0:05"), (59.6, "1:00"), (750, "12:30"), (11_100, "3:05:00")],
)
def test_a_duration_is_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
