"""The only door to Prometheus (also Thanos, Mimir, VictoriaMetrics).

Raw samples by instant query with a range selector that reaches from a millisecond before the
period to its last one: so it holds the whole period on Prometheus 2 (closed at both ends) and
3 (open on the left), whatever version a server claims; what lies outside is dropped.
Built on `PrometheusConnect` for address, session and credentials; with deadlines, typed
decoding (measured: 6x a plain JSON decode), warnings and splitting of what is too much.
A server that is asked in plain HTTP is near: it is asked not to compress, which would take it
longer than the way does (measured: twice the time).
Sources: Prometheus HTTP API; migration guide of version 3.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import msgspec
import numpy as np
from prometheus_api_client import PrometheusConnect
from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)
from urllib3 import Retry

from accounting.domain.period import HOUR_MS, Period
from accounting.domain.series import Reading
from accounting.sources.catalogue import (
    EXPORTER_METRICS,
    GPU_LOOKING,
    KUBE_METRICS,
    NO_UNKNOWN,
    QUEUE_METRICS,
    is_unknown_gpu_metric,
)
from accounting.sources.errors import TooMuch, Unavailable, WrongAnswer
from accounting.sources.exposition import RawSeries
from accounting.sources.http import Access, fetch
from accounting.sources.samples import SampleBatch, build_reading

ATTEMPTS = 4
LONGEST_WAIT_S = 8.0
LONGEST_QUERY_MS = HOUR_MS
SHORTEST_QUERY_MS = 60_000  # below it a question is not split any more
NAMES_TIMEOUT_S = 10.0  # of a question that no number waits for
MOST_NAMES = 1_000


class _Sample(msgspec.Struct, array_like=True, gc=False):
    at_s: float
    value: float


class _Vector(msgspec.Struct, gc=False):
    metric: msgspec.Raw
    values: list[_Sample] = []


class _Result(msgspec.Struct):
    result: list[_Vector] = []
    resultType: str = ""  # noqa: N815  # Prometheus' own spelling


class _Answer(msgspec.Struct):
    status: str
    data: _Result | None = None
    error: str = ""
    errorType: str = ""  # noqa: N815  # Prometheus' own spelling
    warnings: list[str] = []
    infos: list[str] = []


_decode = msgspec.json.Decoder(_Answer, strict=False).decode  # values are in quotes
_labels = msgspec.json.Decoder(dict[str, str]).decode
# The decoder takes numbers as Prometheus writes them, but for one. Labels are objects, so
# that no label's value is followed by a bracket.
_INFINITE = re.compile(rb'"\+Inf"(?=\s*\])')
_VALUE = re.compile(rb',\s*"([^"\\]*)"\s*\]')


@dataclass(slots=True)
class Prometheus:
    """One Prometheus-like server.

    Attributes:
        url: without `/api/v1`; a trailing slash does not matter.
        access: credentials, tenant headers and deadlines.
        matchers: further label matchers, e.g. `{"cluster": "north"}`.
        parameters: sent with every query, e.g. Thanos' `dedup`.
        scales, interval_ms: what the source declares (rules.md N4, N8).
    """

    url: str
    access: Access = field(default_factory=Access)
    matchers: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    interval_ms: int | None = None
    _connection: PrometheusConnect | None = None
    _part_ms: int = LONGEST_QUERY_MS

    def read(self, period: Period) -> Reading:
        """Every sample of the catalogue's metrics in a period.

        Raises:
            SourceError: nothing usable could be had.
        """
        collected = _Collected()
        for names in (
            sorted(EXPORTER_METRICS),
            sorted({*KUBE_METRICS, *QUEUE_METRICS}),
            ["up"],
        ):
            self._collect(self._selector(names), period, collected)
        return build_reading(
            collected.batch(period),
            scales=self.scales,
            interval_ms=self.interval_ms,
            is_partial=bool(collected.warnings),
            notes=tuple(
                ("source_warning", self.url, text)
                for text in sorted(collected.warnings)
            ),
        )

    def unknown_names(self, period: Period) -> set[tuple[str, str]]:
        """(name, job) of what looks like a GPU's metric in a period and is in no table.

        One question, asked once, of a few seconds and a bounded answer: the server filters
        the names, and sends no samples.

        Raises:
            SourceError: nothing usable could be had.
        """
        wanted = [f"__name__=~{quoted(GPU_LOOKING)}", f"__name__!~{quoted(NO_UNKNOWN)}"]
        selector = "{" + ",".join([*wanted, *self._own_matchers()]) + "}"
        parameters = {
            "query": "group by (__name__, job) "
            f"(last_over_time({selector}[{period.length_ms}ms]))",
            "time": f"{(period.end_ms - 1) / 1000:.3f}",
            "timeout": f"{NAMES_TIMEOUT_S:g}s",
            "limit": str(MOST_NAMES),
            **self.parameters,
        }
        within = min(self.access.timeout_s, NAMES_TIMEOUT_S)
        access = replace(self.access, timeout_s=within)
        answer = self._call("/api/v1/query", parameters, access, "vector")
        assert answer.data is not None  # _checked  # noqa: S101
        every = [_labels_of(one.metric) for one in answer.data.result]
        found = {
            (labels.get("__name__", ""), labels.get("job", "")) for labels in every
        }
        return {(name, job) for name, job in found if is_unknown_gpu_metric(name)}

    def _collect(self, selector: str, period: Period, into: "_Collected") -> None:
        """Read a period in parts; in smaller ones once the server says: too much."""
        start_ms = period.start_ms
        while start_ms < period.end_ms:
            part = Period(start_ms, min(start_ms + self._part_ms, period.end_ms))
            try:
                into.add(self._retried(selector, part), part)
            except TooMuch:
                if part.length_ms <= SHORTEST_QUERY_MS:
                    raise
                self._part_ms = max(SHORTEST_QUERY_MS, part.length_ms // 2)
                continue
            except ValueError as error:
                raise WrongAnswer(f"{self.url}: a value is wrong: {error}") from error
            start_ms = part.end_ms

    def _retried(self, selector: str, period: Period) -> _Answer:
        retrying = Retrying(
            retry=retry_if_exception(_is_worth_another_try),
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            reraise=True,
        )
        return retrying(self._ask, selector, period)

    def _ask(self, selector: str, period: Period) -> _Answer:
        at = f"{(period.end_ms - 1) / 1000:.3f}"
        query = f"{selector}[{period.length_ms}ms]"
        parameters = {"query": query, "time": at, **self.parameters}
        return self._call("/api/v1/query", parameters, self.access, "matrix")

    def _call(
        self, path: str, parameters: Mapping[str, str], access: Access, kind: str
    ) -> _Answer:
        connection = self._connect()
        address = f"{connection.url.rstrip('/')}{path}"
        body = fetch(
            connection._session,  # noqa: SLF001  # its public calls lose `warnings`
            address,
            access,
            method="POST",
            data=dict(parameters),
        )
        return _checked(body, address, kind)

    def _connect(self) -> PrometheusConnect:
        if self._connection is None:
            session = self.access.session()
            if self.url.startswith("http:") and not self._names_encoding():
                session.headers["Accept-Encoding"] = "identity"
            self._connection = PrometheusConnect(
                url=self.url.rstrip("/"),
                session=session,
                timeout=self.access.timeout_s,
                retry=Retry(0, read=False),  # its own would try again within our tries
            )
        return self._connection

    def _names_encoding(self) -> bool:
        return any(name.lower() == "accept-encoding" for name in self.access.headers)

    def _selector(self, names: Sequence[str]) -> str:
        """A selector of a closed list of names; label values are quoted as literals."""
        named = f"__name__=~{quoted('|'.join(names))}"
        return "{" + ",".join([named, *self._own_matchers()]) + "}"

    def _own_matchers(self) -> list[str]:
        return [
            f"{key}={quoted(value)}" for key, value in sorted(self.matchers.items())
        ]


def quoted(text: str) -> str:
    """A PromQL string literal that means exactly `text`."""
    return json.dumps(text, ensure_ascii=False)


def _is_worth_another_try(error: BaseException) -> bool:
    """A server that asks for more patience than ours gets it from the window ledger."""
    if not isinstance(error, Unavailable):
        return False
    return error.retry_after_s is None or error.retry_after_s <= LONGEST_WAIT_S


def _wait(state: object) -> float:
    """How long to wait before the next try: what the server asked for, else with jitter."""
    outcome = getattr(state, "outcome", None)
    error = outcome.exception() if outcome is not None else None
    asked = getattr(error, "retry_after_s", None)
    if asked is not None:
        return float(asked)
    jittered = wait_exponential_jitter(multiplier=0.2, max=LONGEST_WAIT_S)
    return float(jittered(state))  # type: ignore[arg-type]  # tenacity's own state


def _checked(body: bytes, address: str, kind: str) -> _Answer:
    try:
        answer = _decoded(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        start = body[:80].decode(errors="replace")
        raise WrongAnswer(
            f"{address}: not an answer of Prometheus ({error}); it starts {start!r}; "
            "check the address"
        ) from error
    if answer.errorType in ("timeout", "execution"):
        raise TooMuch(f"{address}: {answer.errorType}: {answer.error}")
    if answer.status != "success" or answer.data is None:
        what = (
            f"{answer.errorType}: {answer.error}" if answer.error else "no data in it"
        )
        raise WrongAnswer(f"{address}: status {answer.status[:40]!r}, {what}")
    if answer.data.resultType != kind:
        raise WrongAnswer(f"{address}: unexpected {answer.data.resultType!r} result")
    return answer


def _decoded(body: bytes) -> _Answer:
    try:
        return _decode(body)
    except msgspec.ValidationError:
        for value in _VALUE.finditer(body):
            float(value[1].decode())  # says which one is no number
        if not _INFINITE.search(body):
            raise
    return _decode(_INFINITE.sub(b'"Inf"', body))


def _labels_of(metric: bytes | msgspec.Raw) -> dict[str, str]:
    try:
        return _labels(metric)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongAnswer(f"the labels of a series are wrong: {error}") from error


@lru_cache(maxsize=250_000)  # series; some 150 MB
def _raw_series(metric: bytes) -> RawSeries:
    """The series of labels as they are written; a server writes them alike for hours."""
    labels = _labels_of(metric)
    name = labels.pop("__name__", "")
    cleaned = ((k, v.replace("\0", "\ufffd")) for k, v in labels.items())
    return RawSeries(name, tuple(sorted(cleaned)))  # PostgreSQL stores no NUL


@dataclass(slots=True)
class _Collected:
    """Samples of several answers."""

    series: list[RawSeries] = field(default_factory=list)
    warnings: set[str] = field(default_factory=set)
    _ids: dict[RawSeries, int] = field(default_factory=dict)
    _texts: dict[bytes, int] = field(default_factory=dict)
    _blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(
        default_factory=list
    )

    def add(self, answer: _Answer, period: Period) -> None:
        """Take over an answer's samples; those outside the period are dropped."""
        self.warnings.update(answer.warnings)
        assert answer.data is not None  # _checked  # noqa: S101
        found = answer.data.result
        lengths = [len(vector.values) for vector in found]
        count = sum(lengths)
        every = [vector.values for vector in found]
        at_s = np.fromiter((s.at_s for part in every for s in part), float, count)
        values = np.fromiter((s.value for part in every for s in part), float, count)
        times = np.rint(at_s * 1000.0)
        inside = (times >= period.start_ms) & (times < period.end_ms)
        owner = np.repeat(np.arange(len(found)), lengths)[inside]
        kept = np.bincount(owner, minlength=len(found)).tolist()
        ids = np.array(
            [
                self._id(bytes(vector.metric)) if n else -1
                for vector, n in zip(found, kept, strict=True)
            ],
            np.int32,
        )
        if len(owner):
            self._blocks.append(
                (ids[owner], times[inside].astype(np.int64), values[inside])
            )

    def batch(self, period: Period) -> SampleBatch:
        """Everything collected."""
        if not self._blocks:
            empty = np.empty(0, np.int64)
            return SampleBatch(
                self.series, empty.astype(np.int32), empty, empty.astype(float)
            )
        ids, times, values = (
            np.concatenate(parts) for parts in zip(*self._blocks, strict=True)
        )
        return SampleBatch(self.series, ids, times, values)

    def _id(self, metric: bytes) -> int:
        known = self._texts.get(metric)
        if known is None:
            raw = _raw_series(metric)
            known = self._ids.setdefault(raw, len(self.series))
            if known == len(self.series):
                self.series.append(raw)
            self._texts[metric] = known
        return known
