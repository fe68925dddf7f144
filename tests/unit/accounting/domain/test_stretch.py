"""Windows of one GPU fold into stretches of one holder."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from accounting.domain.stretch import stretches

START = datetime(2026, 10, 1, 10, tzinfo=UTC)


@dataclass(frozen=True)
class Part:
    """One line of one window."""

    at: datetime
    pod: str
    milliseconds: dict[str, int]


def part(window: int, pod: str, busy: int = 0, idle: int = 0, unknown: int = 0) -> Part:
    """A line of the nth window."""
    found = {"busy": busy, "idle": idle, "unknown": unknown}
    return Part(START + timedelta(minutes=5 * window), pod, found)


def test_a_holder_in_consecutive_windows_is_one_stretch() -> None:
    found = stretches([part(0, "a", busy=1), part(1, "a", idle=3), part(2, "", busy=0)])
    assert [(s.pod, s.busy_ms, s.idle_ms) for s in found] == [("a", 1, 3), ("", 0, 0)]
    assert found[0].end == START + timedelta(minutes=10)
    assert found[0].efficiency == 0.25
    assert found[1].efficiency is None


def test_a_missing_window_ends_a_stretch() -> None:
    found = stretches([part(0, "a"), part(2, "a")])
    assert [(s.start, s.end) for s in found] == [
        (START, START + timedelta(minutes=5)),
        (START + timedelta(minutes=10), START + timedelta(minutes=15)),
    ]


def test_holders_of_a_shared_gpu_are_apart() -> None:
    found = stretches([part(0, "a"), part(0, "b"), part(1, "a")])
    assert [(s.pod, (s.end - s.start).seconds) for s in found] == [
        ("a", 600),
        ("b", 300),
    ]


def test_no_window_gives_no_stretch() -> None:
    assert stretches([]) == []


def test_every_state_of_a_stretch_adds_up() -> None:
    found = stretches(
        [part(0, "a", 1, 10, 100), part(1, "a", 2, 20, 200), part(2, "a", 4, 40, 400)]
    )
    assert [(s.busy_ms, s.idle_ms, s.unknown_ms) for s in found] == [(7, 70, 700)]
    assert found[0].end == START + timedelta(minutes=15)


def test_stretches_are_in_order_of_their_start_and_then_by_pod() -> None:
    found = stretches([part(0, "b"), part(0, "a"), part(2, "b"), part(3, "c")])
    assert [(s.pod, (s.start - START).seconds // 300) for s in found] == [
        ("a", 0),
        ("b", 0),
        ("b", 2),
        ("c", 3),
    ]
