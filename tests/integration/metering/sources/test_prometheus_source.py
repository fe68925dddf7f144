"""The prometheus door against real servers: every sample once, on both versions.

Range selectors are closed on the left in version 2 and open in version 3; windows are
half-open on both. Not here: whole ledgers (test_three_doors), faults (test_source_faults).
"""

from collections.abc import Iterator

import pytest

from accounting.core.interval import HOUR_MS, WINDOW_MS, Interval
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.prometheus import Prometheus
from tests.builders import HOUR_ZERO, Text
from tests.prometheus_server import prometheus

pytestmark = pytest.mark.prometheus

START = HOUR_ZERO * 1000
WHOLE = Interval(START, START + 2 * HOUR_MS)
BORDERS = range(HOUR_ZERO, HOUR_ZERO + 7200, 300)  # of all windows, in seconds


@pytest.fixture(scope="module", params=[2, 3])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server with a sample exactly at each border and one a millisecond before it."""
    text = Text()
    for border in BORDERS:
        text.utilization("GPU-1", "n1", {border: 0.5})
        text.utilization("GPU-2", "n1", {border - 0.125: 0.25})
    folder = tmp_path_factory.mktemp(f"prometheus-{request.param}")
    with prometheus(request.param, text.text(), folder) as address:
        yield address


def times_of(reading: Reading, uuid: str) -> list[int]:
    """The sample times of a GPU, in milliseconds."""
    return [
        int(at)
        for series in reading.series
        if series.gpu is not None and series.gpu.uuid == uuid
        for at in series.times_ms
    ]


def test_sample_on_a_border_belongs_to_the_window_that_begins_there(
    server: str,
) -> None:
    source_client = Prometheus(server)
    for window in WHOLE.windows():
        assert times_of(source_client.read(window), "GPU-1") == [window.start_ms]


def test_sample_just_before_a_border_belongs_to_the_window_that_ends_there(
    server: str,
) -> None:
    source_client = Prometheus(server)
    for window in list(WHOLE.windows())[:-1]:
        assert times_of(source_client.read(window), "GPU-2") == [window.end_ms - 125]


def test_long_period_is_asked_in_parts_without_loss_or_repetition(server: str) -> None:
    reading = Prometheus(server).read(WHOLE)
    assert times_of(reading, "GPU-1") == [at * 1000 for at in BORDERS]


def test_windows_of_odd_length_meet_without_loss_or_repetition(server: str) -> None:
    source_client = Prometheus(server)
    cuts = [START, START + 1, START + WINDOW_MS, START + WINDOW_MS + 1, WHOLE.end_ms]
    found: list[int] = []
    for low, high in zip(cuts, cuts[1:], strict=False):
        found += times_of(source_client.read(Interval(low, high)), "GPU-1")
    assert found == [at * 1000 for at in BORDERS]


def test_matchers_and_label_values_are_taken_literally(server: str) -> None:
    for value in ('n1"} or up{a="', "n.*", "", "n1\n"):
        source_client = Prometheus(server, matchers={"Hostname": value})
        found = times_of(source_client.read(WHOLE), "GPU-1")
        assert found == []
    source_client = Prometheus(server, matchers={"Hostname": "n1"})
    assert len(times_of(source_client.read(WHOLE), "GPU-1")) == len(BORDERS)
