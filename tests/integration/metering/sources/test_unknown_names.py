"""Names outside the catalogue through the Prometheus door: asked for, named, resolved.

A file and a scrape show all their names (test_hostile_files, test_scrape_faults); Prometheus
is asked for those of the catalogue, and by one more question for those that are in no table.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from accounting.core.interval import DAY_MS, HOUR_MS, Interval
from accounting.metering.sources.prometheus import MOST_NAMES, Prometheus
from accounting.metering.tasks.pipeline import ingest_all
from accounting.metering.tasks.windows import schedule
from tests.builders import HOUR_ZERO, Text
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.faults import FAULTS, GOOD
from tests.integration.metering.sources.replay import Answer, Question, Script
from tests.integration.metering.sources.source import HOUR, Source
from tests.integration.metering.sources.stand_in import answer_of
from tests.integration.metering.support import facts, report
from tests.prometheus_server import prometheus

GPU = {"UUID": "GPU-1", "Hostname": "n1", "job": "dcgm"}
UNKNOWN = {
    "DCGM_FI_DEV_SOMETHING_NEW": "dcgm",
    "nvidia_new_meter": "other",
    "gpu_new_meter": "dcgm",
}
KNOWN = (
    *("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
    *("DCGM_EXP_CLOCK_EVENTS_COUNT", "gpu_gfx_activity", "gpu_health"),
    *("kueue_pending_workloads", "node_load1", "my_DCGM_FI_DEV_X"),
)


def history() -> str:
    """Names of all kinds in the first hour; in the second one more that nobody knows."""
    text = Text()
    for minute in range(120):
        at = HOUR_ZERO + 60.0 * minute
        for name in KNOWN:
            text.add(name, GPU, 1, at)
        for name, job in UNKNOWN.items():
            if minute < 60:
                text.add(name, GPU | {"job": job}, 1, at)
        if minute >= 60:
            text.add("DCGM_FI_DEV_LATER", GPU, 1, at)
    return text.text()


@pytest.fixture(scope="module", params=[2, 3])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Prometheus that has the names."""
    folder = tmp_path_factory.mktemp(f"names-{request.param}")
    with prometheus(request.param, history(), folder) as address:
        yield address


@pytest.mark.prometheus
def test_names_of_a_period_are_those_with_samples_in_it(server: str) -> None:
    source_client = Prometheus(server)
    assert source_client.unknown_names(HOUR) == set(UNKNOWN.items())
    second = Interval(HOUR.end_ms, HOUR.end_ms + HOUR_MS)
    assert source_client.unknown_names(second) == {("DCGM_FI_DEV_LATER", "dcgm")}
    before = Interval(HOUR.start_ms - HOUR_MS, HOUR.start_ms)
    assert source_client.unknown_names(before) == set()


@pytest.mark.prometheus
def test_the_matchers_of_a_source_hold_for_names_too(server: str) -> None:
    assert Prometheus(server, matchers={"job": "other"}).unknown_names(HOUR) == {
        ("nvidia_new_meter", "other")
    }
    assert Prometheus(server, matchers={"Hostname": "n2"}).unknown_names(HOUR) == set()


@pytest.mark.prometheus
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("jobs", "expected"), [(None, set(UNKNOWN)), (["other"], {"nvidia_new_meter"})]
)
def test_unknown_names_go_to_data_health(
    server: str, configure: Configure, jobs: list[str] | None, expected: set[str]
) -> None:
    source: dict[str, Any] = {"kind": "prometheus", "url": server}
    cluster = configure(source | ({"jobs": jobs} if jobs else {}))
    schedule.mark(cluster.pk, [HOUR], "asked", create=True)
    assert ingest_all(cluster).failed == 0
    assert names() == expected


def names(state: str = "open") -> set[str]:
    """The subjects of what data health says of names."""
    rows = report("issues", state=state)
    return {row["subject"] for row in rows if row["code"] == "unknown_metric"}


def named(*found: str) -> Script:
    """Right answers, and these names that no catalogue knows."""

    def script(question: Question) -> Answer:
        if not is_of_names(question):
            return GOOD(question)
        series = [{"metric": {"__name__": name}, "value": [0, "1"]} for name in found]
        return answer_of([], data={"resultType": "vector", "result": series})

    return script


def is_of_names(question: Question) -> bool:
    return question.parameters["query"].startswith("group by (__name__")


@pytest.mark.django_db(transaction=True)
def test_a_name_is_said_until_a_day_of_data_lacks_it(source: Source) -> None:
    source.script = named("DCGM_FI_DEV_NEW", "DCGM_FI_DEV_GPU_UTIL", "node_load1")
    assert source.read() == 0
    [issue] = [row for row in report("issues") if row["code"] == "unknown_metric"]
    assert (
        issue["subject"] == "DCGM_FI_DEV_NEW"
    )  # the catalogue decides, not the server
    assert "docs/sources.md" in issue["advice"]
    source.script = named()
    for later_ms, expected in (
        (HOUR_MS, {"DCGM_FI_DEV_NEW"}),
        (DAY_MS + 2 * HOUR_MS, set()),
    ):
        period = Interval(HOUR.start_ms + later_ms, HOUR.end_ms + later_ms)
        schedule.mark(source.cluster.pk, [period], "asked", create=True)
        assert source.read() == 0
        assert names() == expected
    assert names("resolved") == {"DCGM_FI_DEV_NEW"}


@pytest.mark.django_db(transaction=True)
def test_what_was_read_before_is_not_asked_for_names_again(source: Source) -> None:
    asked: list[Question] = []

    def script(question: Question) -> Answer:
        asked.append(question)
        return GOOD(question)

    source.script = script
    assert source.read() == 0
    [names_asked] = filter(is_of_names, asked)
    assert names_asked.parameters["limit"] == str(MOST_NAMES)
    assert names_asked.parameters["timeout"] == "10s"
    schedule.read_again(source.cluster.pk, HOUR)
    assert source.read() == 0
    assert len(asked) > len(list(filter(is_of_names, asked))) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_answer_about_names_keeps_no_window_waiting(
    name: str, source: Source, facts_without_fault: list[tuple[Any, ...]]
) -> None:
    fault = FAULTS[name].script
    source.script = lambda q: fault(q) if is_of_names(q) else GOOD(q)
    assert source.read() == 0
    assert facts() == facts_without_fault
    assert "source_failed" not in {row["code"] for row in report("issues")}
