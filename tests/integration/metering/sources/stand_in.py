"""A stand-in for Prometheus: answers the door's own questions from a text of samples.

Made with the official client's parser, not with ours. For what a real server does with
history see `tests/prometheus_server.py`; this one exists to answer wrongly on demand.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.integration.metering.sources.replay import Answer, Question

_NAMES = re.compile(r"group by \(__name__, job\) \(last_over_time\(.*\)\)")
_QUERY = re.compile(r'\{__name__=~"([^"]*)"\}\[(\d+)ms\]')


class StandIn:
    """Samples by series, and the answers that Prometheus 3 would give.

    Attributes:
        asked: every question, in order.
    """

    def __init__(self, text: str) -> None:
        self.asked: list[Question] = []
        self._series: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
        families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for family in families:
            for sample in family.samples:
                labels = {"__name__": sample.name, **sample.labels}
                key = tuple(sorted(labels.items()))
                point = (float(sample.timestamp), repr(sample.value))
                self._series.setdefault(key, []).append(point)

    def __call__(self, question: Question) -> Answer:
        """The right answer; the samples have no names that nobody knows."""
        self.asked.append(question)
        if _NAMES.fullmatch(question.parameters["query"]):
            return answer_of([], data={"resultType": "vector", "result": []})
        return answer_of(self.result(question))

    def result(self, question: Question) -> list[dict[str, Any]]:
        """The series that a range selector finds, as Prometheus lists them."""
        match = _QUERY.fullmatch(question.parameters["query"])
        assert match is not None, question.parameters["query"]
        end = float(question.parameters["time"])
        start = end - int(match[2]) / 1000
        return list(self._chosen(set(match[1].split("|")), start, end))

    def _chosen(
        self, names: set[str], start: float, end: float
    ) -> Iterator[dict[str, Any]]:
        for key, points in self._series.items():
            inside = [[at, value] for at, value in points if start < at <= end]
            if inside and dict(key)["__name__"] in names:
                yield {"metric": dict(key), "values": inside}


def answer_of(result: object, **more: object) -> Answer:
    """A successful answer with a matrix; `more` adds or replaces its fields."""
    data = {"resultType": "matrix", "result": result}
    said = {"status": "success", "data": data, **more}
    return Answer(
        body=json.dumps(said).encode(), headers={"Content-Type": "application/json"}
    )


def error_of(status: int, kind: str, text: str) -> Answer:
    """An error as Prometheus words it."""
    said = {"status": "error", "errorType": kind, "error": text}
    return Answer(
        status, json.dumps(said).encode(), {"Content-Type": "application/json"}
    )
