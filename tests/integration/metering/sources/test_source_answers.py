"""Answers of a Prometheus that are right, but late, in parts, twice or not whole.

Not here: answers that are wrong (test_source_faults).
"""

import time
from typing import Any

import pytest
from django.db.models.functions import Now

from accounting.metering.models.ledger import IngestWindow, WindowState
from accounting.metering.sources.catalogue import EXPORTER_METRICS
from accounting.metering.sources.http import HttpAccess
from accounting.metering.sources.prometheus import Prometheus
from tests.integration.metering.sources.faults import GOOD
from tests.integration.metering.sources.replay import Answer, Question, Script
from tests.integration.metering.sources.source import COUNT, HOUR, Source, let_time_pass
from tests.integration.metering.sources.stand_in import answer_of, error_of
from tests.integration.metering.support import facts, report

pytestmark = pytest.mark.django_db(transaction=True)


ALL_NAMES = f'{{__name__=~"{"|".join(EXPORTER_METRICS)}"}}[{HOUR.length_ms}ms]'


def in_turn(*answers: Answer) -> Script:
    """These answers first, then the right ones."""
    left = list(answers)
    return lambda question: left.pop(0) if left else GOOD(question)


def test_short_fault_is_not_noticed(
    source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    source.script = in_turn(Answer(503), Answer(429, b"", {"Retry-After": "0"}))
    assert source.read() == 0
    assert facts() == facts_without_fault


def test_short_wish_for_rest_is_granted_at_once(
    source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    source.script = in_turn(Answer(429, b"", {"Retry-After": "1"}))
    before = time.monotonic()
    assert source.read() == 0
    assert time.monotonic() - before >= 1
    assert facts() == facts_without_fault


def test_long_wish_for_rest_is_granted_by_the_windows(source: Source) -> None:
    asked: list[Question] = []

    def overloaded(question: Question) -> Answer:
        asked.append(question)
        return Answer(429, b"", {"Retry-After": "900"})

    source.script = overloaded
    assert source.read() == COUNT
    assert len(asked) == 1, "it is left alone"
    window = IngestWindow.objects.annotate(now=Now()).latest("window_start")
    wait = (window.next_attempt_at - window.now).total_seconds()
    assert 890 < wait <= 900


def length_ms(question: Question) -> int:
    """The length of the range that was asked for."""
    return int(question.parameters["query"].split("[")[1].removesuffix("ms]"))


TOO_MUCH = {
    "an error": error_of(422, "execution", "too many samples"),
    "a time-out of its own": error_of(503, "timeout", "query timed out"),
    "silence": Answer(is_silent=True),
    "a slow answer": Answer(body=b" " * 100, drip_s=0.1),
}


@pytest.mark.parametrize("said", TOO_MUCH)
def test_too_much_is_asked_in_parts(
    said: str, source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    refused: list[Question] = []

    def limited(question: Question) -> Answer:
        if length_ms(question) > 600_000:
            refused.append(question)
            return TOO_MUCH[said]
        return GOOD(question)

    source.script = limited
    assert source.read() == 0
    assert facts() == facts_without_fault
    assert len(refused) == 3, "what was too much once is not asked again"


def test_answer_that_is_too_large_is_asked_in_parts(source: Source) -> None:
    def times(source_client: Prometheus) -> int:
        return sum(len(series.times_ms) for series in source_client.read(HOUR).series)

    whole = GOOD(
        Question("", {"query": ALL_NAMES, "time": str(HOUR.end_ms / 1000)}, {})
    )
    small = HttpAccess(max_bytes=len(whole.body) // 3)
    assert times(Prometheus(source.address, small)) == times(Prometheus(source.address))


@pytest.mark.parametrize(
    "text", ["\0", "a\0b", "\x1b[0m", "\u202e", "x" * 70_000, "😀"]
)
def test_odd_label_harms_nobody_else(
    text: str, source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    def with_odd_labels(question: Question) -> Answer:
        result = GOOD.result(question)
        odd = [
            series | {"metric": series["metric"] | {"UUID": text, "Hostname": "odd"}}
            for series in result
            if "UUID" in series["metric"]
        ]
        return answer_of([*result, *odd])

    source.script = with_odd_labels
    assert source.read() == 0
    others = [row for row in facts() if row[4] != "odd"]
    assert others == facts_without_fault


@pytest.mark.parametrize("at", [-1, 0, 1e17, 1e300, HOUR.start_ms / 1000 - 1e6])
def test_sample_outside_the_question_is_dropped(
    at: float, source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    def with_odd_times(question: Question) -> Answer:
        result = GOOD.result(question)
        for series in result:
            series["values"].append([at, "0.5"])
        return answer_of(result)

    source.script = with_odd_times
    assert source.read() == 0
    assert facts() == facts_without_fault


def test_series_that_stands_twice_counts_once(
    source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    def doubled(question: Question) -> Answer:
        result = GOOD.result(question)
        return answer_of([*result, *result])

    source.script = doubled
    assert source.read() == 0
    assert facts() == facts_without_fault


def test_series_in_pieces_is_one_series(
    source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    def pieces(question: Question) -> Answer:
        parts = []
        for series in GOOD.result(question):
            for point in reversed(series["values"]):
                parts.append({"metric": series["metric"], "values": [point]})
        return answer_of(parts)

    source.script = pieces
    assert source.read() == 0
    assert facts() == facts_without_fault


def test_answer_with_warnings_is_not_final(
    source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    def without_exporters(question: Question) -> Answer:
        result = GOOD.result(question)
        kept = [s for s in result if s["metric"]["__name__"].startswith("kube_")]
        return answer_of(kept, warnings=["store 3 is unreachable"])

    source.script = without_exporters
    assert source.read() == 0
    window = IngestWindow.objects.first()
    assert window is not None
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {
        WindowState.PARTIAL
    }
    assert window.next_attempt_at is not None
    assert all(row["unknown_ms"] == row["allocated_ms"] for row in report("usage"))
    issue = next(row for row in report("issues") if row["code"] == "source_warning")
    assert "store 3 is unreachable" in issue["message"]
    [whole] = report("ledger", by="cluster")
    assert issue["at_stake_ms"] == whole["unknown_ms"] + whole["dark_ms"] > 0

    source.script = GOOD
    let_time_pass()
    assert source.read() == 0
    assert facts() == facts_without_fault
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {
        WindowState.DONE
    }
    assert "source_warning" not in {row["code"] for row in report("issues")}
