"""The only client of Prometheus (also Thanos, Mimir, VictoriaMetrics).

Raw samples are read by an instant query with a range selector from a millisecond before the
period to its last one: so it contains the whole period on Prometheus 2 (closed at both ends) and
3 (open on the left), whatever version a server reports; samples outside are dropped.
Built on `PrometheusConnect` for address, session and credentials; adds deadlines, warnings and
splitting of queries that are too large.
The deadline of a response is `timeout_s` of `HttpAccess` (`accounting/metering/sources/http.py`).
A server with plain HTTP is assumed to be near: compression is not requested, because it takes
longer than the transfer (measured: twice the time).
Sources: Prometheus HTTP API; migration guide of version 3.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prometheus_api_client import PrometheusConnect
from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)
from urllib3 import Retry

from accounting.core.interval import HOUR_MS, Interval
from accounting.metering.rules.samples.series import Reading
from accounting.metering.sources.answers import (
    Answer,
    CollectedSamples,
    checked,
    labels_of,
)
from accounting.metering.sources.catalogue import (
    GPU_LOOKING,
    KUBE_METRICS,
    NO_UNKNOWN,
    NODE_LABELS,
    POD_REASON,
    QUEUE_METRICS,
    exporter_names,
    is_unknown_gpu_metric,
)
from accounting.metering.sources.errors import (
    InvalidSourceResponse,
    TooMuch,
    Unavailable,
)
from accounting.metering.sources.http import HttpAccess, fetch
from accounting.metering.sources.samples import UnknownNames, build_reading

ATTEMPTS = 4
LONGEST_WAIT_S = 8.0
LONGEST_QUERY_MS = HOUR_MS
SHORTEST_QUERY_MS = 60_000  # shorter queries are not split any more
NAMES_TIMEOUT_S = 10.0  # of a query that no result depends on
MOST_NAMES = 1_000
MOST_NODES = 50_000  # nodes of names


@dataclass(slots=True)
class Prometheus:
    """One Prometheus-like server.

    Attributes:
        url: without `/api/v1`; a trailing slash does not matter.
        access: credentials, tenant headers and deadlines.
        matchers: further label matchers, such as `{"cluster": "north"}`.
        parameters: sent with every query, such as Thanos' `dedup`.
        scales, interval_ms: what the source declares (rules.md N4, N8).
    """

    url: str
    access: HttpAccess = field(default_factory=HttpAccess)
    matchers: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    interval_ms: int | None = None
    _connection: PrometheusConnect | None = None
    _part_ms: int = LONGEST_QUERY_MS

    def read(self, period: Interval) -> Reading:
        """Every sample of the catalogue's metrics in a period.

        Raises:
            SourceError: no usable response.
        """
        collected = CollectedSamples()
        for names in (
            exporter_names(),
            sorted({*KUBE_METRICS, *QUEUE_METRICS} - {POD_REASON}),
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

    def unknown_names(self, period: Interval) -> set[tuple[str, str]]:
        """(name, job) of unknown metrics in a period that look like GPU metrics.

        One query without retries, with a short deadline and a bounded response: the server filters
        the names, and returns no samples.

        Raises:
            SourceError: no usable response.
        """
        wanted = [f"__name__=~{quoted(GPU_LOOKING)}", f"__name__!~{quoted(NO_UNKNOWN)}"]
        every = self._grouped(wanted, ("job",), period, MOST_NAMES)
        found = {(some.get("__name__", ""), some.get("job", "")) for some in every}
        return {(name, job) for name, job in found if is_unknown_gpu_metric(name)}

    def nodes_of_names(self, names: Sequence[str], period: Interval) -> UnknownNames:
        """The nodes of series with these names in a period; queried in the same way.

        Raises:
            SourceError: no usable response.
        """
        wanted = [f"__name__=~{quoted('|'.join(names))}"]
        found = UnknownNames()
        for labels in self._grouped(wanted, NODE_LABELS, period, MOST_NODES):
            found.add(labels.pop("__name__", ""), labels)
        return found

    def _grouped(
        self, wanted: Sequence[str], labels: Sequence[str], period: Interval, most: int
    ) -> list[dict[str, str]]:
        """The label sets of series in a period, by name and `labels`."""
        selector = "{" + ",".join([*wanted, *self._own_matchers()]) + "}"
        parameters = {
            "query": f"group by (__name__, {', '.join(labels)}) "
            f"(last_over_time({selector}[{period.length_ms}ms]))",
            "time": f"{(period.end_ms - 1) / 1000:.3f}",
            "timeout": f"{NAMES_TIMEOUT_S:g}s",
            "limit": str(most),
            **self.parameters,
        }
        within = min(self.access.timeout_s, NAMES_TIMEOUT_S)
        access = replace(self.access, timeout_s=within)
        answer = self._call("/api/v1/query", parameters, access, "vector")
        assert answer.data is not None  # noqa: S101  # for mypy: an answer without data was refused
        return [labels_of(one.metric) for one in answer.data.result]

    def _collect(self, selector: str, period: Interval, into: CollectedSamples) -> None:
        """Read a period in parts, in smaller ones if a query is too large for the server."""
        start_ms = period.start_ms
        while start_ms < period.end_ms:
            part = Interval(start_ms, min(start_ms + self._part_ms, period.end_ms))
            try:
                into.add(self._retried(selector, part), part)
            except TooMuch:
                if part.length_ms <= SHORTEST_QUERY_MS:
                    raise
                self._part_ms = max(SHORTEST_QUERY_MS, part.length_ms // 2)
                continue
            except ValueError as error:
                raise InvalidSourceResponse(
                    f"{self.url}: a value is not valid: {error}"
                ) from error
            start_ms = part.end_ms

    def _retried(self, selector: str, period: Interval) -> Answer:
        retrying = Retrying(
            retry=retry_if_exception(_is_worth_another_try),
            stop=stop_after_attempt(ATTEMPTS),
            wait=_wait,
            reraise=True,
        )
        return retrying(self._ask, selector, period)

    def _ask(self, selector: str, period: Interval) -> Answer:
        at = f"{(period.end_ms - 1) / 1000:.3f}"
        query = f"{selector}[{period.length_ms}ms]"
        parameters = {"query": query, "time": at, **self.parameters}
        return self._call("/api/v1/query", parameters, self.access, "matrix")

    def _call(
        self, path: str, parameters: Mapping[str, str], access: HttpAccess, kind: str
    ) -> Answer:
        connection = self._connect()
        address = f"{connection.url.rstrip('/')}{path}"
        body = fetch(
            connection._session,  # noqa: SLF001  # its public calls lose `warnings`
            address,
            access,
            method="POST",
            data=dict(parameters),
        )
        return checked(body, address, kind)

    def _connect(self) -> PrometheusConnect:
        if self._connection is None:
            session = self.access.session()
            if self.url.startswith("http:") and not self._names_encoding():
                session.headers["Accept-Encoding"] = "identity"
            self._connection = PrometheusConnect(
                url=self.url.rstrip("/"),
                session=session,
                timeout=self.access.timeout_s,
                retry=Retry(0, read=False),  # its own retries would multiply ours
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
    """False if the server requests a longer wait than ours; the window ledger retries then."""
    if not isinstance(error, Unavailable):
        return False
    return error.retry_after_s is None or error.retry_after_s <= LONGEST_WAIT_S


def _wait(state: object) -> float:
    """The wait before the next try: the server's, else with jitter."""
    outcome = getattr(state, "outcome", None)
    error = outcome.exception() if outcome is not None else None
    asked = getattr(error, "retry_after_s", None)
    if asked is not None:
        return float(asked)
    jittered = wait_exponential_jitter(multiplier=0.2, max=LONGEST_WAIT_S)
    return float(jittered(state))  # type: ignore[arg-type]  # tenacity's own state
