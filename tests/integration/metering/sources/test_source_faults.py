"""A Prometheus that fails in every way it can: what is said, what is kept, how it heals.

Whatever the fault, its windows wait, nothing is half written, the message names the
address and the matter, and once the source is back the numbers are the right ones.
"""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db.models.functions import Now

from accounting.core.interval import Interval, to_instant
from accounting.metering.models.cluster import Gpu, Node
from accounting.metering.models.evidence import Scraper
from accounting.metering.models.ledger import DirtyHour, IngestWindow, WindowState
from accounting.metering.models.pod import Pod
from accounting.metering.sources.errors import Unavailable
from accounting.metering.sources.http import fetch
from accounting.metering.tasks.reading.cluster_reader import prometheus_of
from accounting.metering.tasks.windows import schedule
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.faults import FAULTS, GOOD
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.sources.source import (
    COUNT,
    HOUR,
    Source,
    let_time_pass,
    make_due,
)
from tests.integration.metering.support import facts, report

pytestmark = pytest.mark.django_db(transaction=True)


def assert_untouched() -> None:
    """No fact, no evidence and no mark of any."""
    assert facts() == []
    for model in (Gpu, Node, Pod, Scraper, DirtyHour):
        assert not model.objects.exists(), model.__name__


@pytest.mark.parametrize("name", FAULTS)
def test_fault_waits_and_heals(
    name: str, source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    fault = FAULTS[name]
    source.script = fault.script
    assert source.read() == COUNT
    assert_untouched()
    for window in IngestWindow.objects.all():
        assert window.state == WindowState.FAILED
        assert window.attempts == 1
        assert window.next_attempt_at is not None
        assert source.address in window.last_error
        for words in fault.words:
            assert words in window.last_error
    issue = next(row for row in report("issues") if row["code"] == "source_failed")
    assert issue["severity"] == "error"
    assert source.address in issue["message"]
    assert issue["advice"]

    source.script = GOOD
    let_time_pass()
    assert source.read() == 0
    assert facts() == facts_without_fault
    states = IngestWindow.objects.values_list("state", "attempts", "last_error")
    assert set(states) == {(WindowState.DONE, 0, "")}
    assert "source_failed" not in {row["code"] for row in report("issues")}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_a_typed_error(name: str, source: Source) -> None:
    fault = FAULTS[name]
    source.script = fault.script
    source_client = prometheus_of(source.cluster.sources.get())
    ask: Callable[[], object] = partial(source_client.read, HOUR)
    if fault.error is Unavailable:  # the door would try again for seconds
        ask = partial(
            fetch, source_client.access.session(), source.address, source_client.access
        )
    with pytest.raises(fault.error) as raised:
        ask()
    assert raised.type is fault.error


def test_each_failure_waits_longer_and_is_counted(source: Source) -> None:
    source.script = FAULTS["400"].script
    waits = []
    for attempt in (1, 2, 3):
        assert source.read() == COUNT
        assert source.read() == 0, "a failed window waits before it is tried again"
        window = IngestWindow.objects.annotate(now=Now()).latest("window_start")
        assert window.attempts == attempt
        waits.append((window.next_attempt_at - window.now).total_seconds())
        let_time_pass()
    assert waits == pytest.approx([30, 60, 120], abs=5)


def test_data_health_knows_how_asking_went(source: Source) -> None:
    def noted() -> tuple[str, datetime | None, datetime | None]:
        row = source.cluster.sources.get()
        return row.last_error, row.last_read_at, row.last_sample_at

    assert noted() == ("", None, None)
    source.script = FAULTS["401"].script
    source.read()
    error, first_read, latest = noted()
    assert "401" in error
    assert first_read is not None
    assert latest is None

    source.script = GOOD
    let_time_pass()
    source.read()
    error, second_read, latest = noted()
    assert error == ""
    assert second_read is not None
    assert second_read > first_read
    # the last scrape within ten minutes after the hour, 11 s after the half minute
    assert latest == to_instant(HOUR.end_ms + 600_000 - 19_000)

    schedule.mark(
        source.cluster.pk,
        [Interval(HOUR.start_ms, HOUR.start_ms + 1)],
        "asked",
        create=True,
    )
    source.read()
    assert noted()[2] == latest, "older samples are not the latest"
    history = apps.get_model("accounting", "SourceEvent").objects
    assert set(history.values_list("pgh_label", flat=True)) == {"insert"}, (
        "no setting changed"
    )


def test_source_that_is_down_heals_when_it_is_up(configure: Configure) -> None:
    with socket.socket() as closed, ExitStack() as stack:
        closed.bind(("127.0.0.1", 0))  # nobody listens: the connection is refused
        port = closed.getsockname()[1]
        address = f"http://127.0.0.1:{port}"
        cluster = configure({"kind": "prometheus", "url": address})
        source = Source(cluster, GOOD, address)
        make_due(cluster)
        before = time.monotonic()
        assert source.read() == COUNT
        assert time.monotonic() - before < 15, "tries again within tries"
        assert_untouched()
        said = set(IngestWindow.objects.values_list("last_error", flat=True))
        assert len(said) == 1
        assert f"{address}/api/v1/query: cannot be reached (Connection refused)" in (
            said.pop()
        )
        closed.close()
        stack.enter_context(serving(GOOD, port))
        let_time_pass()
        assert source.read() == 0
        assert facts()


def test_redirect_takes_no_credentials_elsewhere(
    source: Source, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    asked: list[Question] = []

    def elsewhere(question: Question) -> Answer:
        asked.append(question)
        return Answer(307, b"", {"Location": f"{source.address}/stolen"})

    source.script = elsewhere
    setting = source.cluster.sources.get()
    setting.settings |= {
        "bearer_token_file": str(token),
        "headers": {"X-Scope-OrgID": "north"},
    }
    setting.save()
    assert source.read() == COUNT
    assert [question.path for question in asked] == ["/api/v1/query"]
    assert asked[0].headers["Authorization"] == "Bearer s3cret"
    assert asked[0].headers["X-Scope-OrgID"] == "north"
    said = IngestWindow.objects.latest("window_start").last_error
    assert "s3cret" not in said


def test_missing_secret_is_named(source: Source, tmp_path: Path) -> None:
    setting = source.cluster.sources.get()
    setting.settings |= {"bearer_token_file": str(tmp_path / "gone")}
    setting.save()
    assert source.read() == COUNT
    assert_untouched()
    said = IngestWindow.objects.latest("window_start").last_error
    assert f"{tmp_path / 'gone'} cannot be read" in said
