"""One day of a public trace through Prometheus and as a file: one ledger.

A pod is away for ten hours and comes back, so that what is known of the hours between changes
when they are computed already. Each door gets one command.

A third of the 80 pods, and all with `make soak FULL_SIZE=1`; all of them as a file:
`test_shared_data.py`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accounting.metering.models.ledger import IngestWindow
from tests.acceptance.given import data
from tests.acceptance.trace import AWAY, STEP_S, utilization_of, write_trace
from tests.budgets import size
from tests.integration.metering.support import clear, facts, report, run
from tests.prometheus_server import make_history, serving

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.prometheus,
    pytest.mark.timeout(600),
]

RANGE = ("--from=2022-09-11T01:00Z", "--to=2022-09-12T00:30Z")
HOURS_AWAY = 9.99
LAST_WINDOW = datetime(2022, 9, 12, tzinfo=UTC)  # it has 57 seconds of the file


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace as a file."""
    samples = utilization_of(data("public-genai-2026a"))
    every = size(3, full=1)
    chosen = [pod for n, pod in enumerate(samples) if n % every == 0 or is_away(pod)]
    path = tmp_path_factory.mktemp("trace") / "genai.om"
    return write_trace(path, {pod: samples[pod] for pod in chosen})


def is_away(pod: str) -> bool:
    """Whether it is the one that comes back."""
    return pod.startswith(AWAY)


@pytest.fixture(scope="module")
def address(trace: Path) -> Iterator[str]:
    """A Prometheus 3 that has the trace; both versions: sources/test_three_sources.py."""
    store = trace.with_name("store")
    make_history(trace, store)
    with serving(3, store, trace.parent) as found:
        yield found


def configure(folder: Path, source: str) -> None:
    """A cluster of one source."""
    (folder / "setup.yaml").write_text(
        f"clusters: [{{name: genai, sources: [{{{source}, interval: {STEP_S}}}]}}]"
    )
    run("configure", folder / "setup.yaml")


def until_the_end(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The facts of whole windows of the file: behind it a Prometheus has dark time."""
    return [row for row in rows if row[0] < LAST_WINDOW]


def by_pod_and_hour() -> list[dict[str, Any]]:
    """The time of each pod in each hour."""
    return report("usage", by="pod,hour")


def test_one_ingest_gives_the_ledger_of_the_file(
    address: str, trace: Path, tmp_path: Path
) -> None:
    configure(tmp_path, "kind: openmetrics")
    run("import_metrics", "--cluster=genai", trace)
    usage, every, holds = by_pod_and_hour(), facts(), report("holds")
    clear()

    configure(tmp_path, f"kind: prometheus, url: '{address}'")
    run("ingest", "--cluster=genai", *RANGE)
    assert by_pod_and_hour() == usage
    assert report("holds") == holds
    assert until_the_end(facts()) == until_the_end(every)
    assert set(IngestWindow.objects.values_list("state", flat=True)) == {"done"}
    away = next(row for row in report("usage", by="pod") if is_away(row["pod"]))
    assert away["unknown_ms"] / 3_600_000 == pytest.approx(HOURS_AWAY, abs=0.1)
    assert "FAIL" not in run("verify")
