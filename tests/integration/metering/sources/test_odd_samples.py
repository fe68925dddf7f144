"""Samples that come out of order, twice, in contradiction, or as blanks of the driver."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import clear, facts, report, run

pytestmark = pytest.mark.django_db(transaction=True)

END = HOUR_ZERO + 1200
UTILIZATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
SCRAPES = times(HOUR_ZERO, END)
BLANKS = (
    "140737488355328",  # DCGM's blank of a double
    "9223372036854775794",  # of a 64-bit number, "not found"
    "18446744073709551615",
    "2147483632",  # of a 32-bit number
    "-1",
    "NaN",
    "+Inf",
    "-Inf",
)


def hour() -> Text:
    """Twenty minutes of a pod on one GPU; its utilization changes with each sample."""
    text = Text()
    text.node("n1", 1, SCRAPES)
    text.pod("train", SCRAPES[3:], node="n1", bound=HOUR_ZERO + 75)
    utilization = {at: round(i * 7 % 10 / 10, 1) for i, at in enumerate(SCRAPES)}
    text.utilization("GPU-1", "n1", utilization, pod="train")
    return text


def imported(text: Text, tmp_path: Path) -> list[tuple[object, ...]]:
    """The facts of a text alone."""
    clear()
    run("import_metrics", "--cluster=north", text.write(tmp_path / "x.om"))
    return facts()


Change = Callable[[list[str]], list[str]]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lines: lines[::-1], id="newest first"),
        pytest.param(
            lambda lines: random.Random(7).sample(lines, len(lines)),
            id="shuffled",
        ),
        pytest.param(lambda lines: [x for x in lines for _ in range(3)], id="thrice"),
        pytest.param(lambda lines: lines + lines, id="again at the end"),
    ],
)
def test_order_and_repetition_change_nothing(change: Change, tmp_path: Path) -> None:
    expected = imported(hour(), tmp_path)
    text = hour()
    text.families = {name: change(lines) for name, lines in text.families.items()}
    assert imported(text, tmp_path) == expected


@pytest.mark.parametrize("other", ["0.95", "NaN", "+Inf", "9223372036854775794", "-3"])
def test_smaller_number_counts_where_two_samples_disagree(
    other: str, tmp_path: Path
) -> None:
    expected = imported(hour(), tmp_path)
    for is_first in (True, False):
        text = hour()
        lines = []
        for line in text.families[UTILIZATION]:
            head, _, at = line.rsplit(" ", 2)
            pair = [line, f"{head} {other} {at}"]
            lines += pair[::-1] if is_first else pair
        text.families[UTILIZATION] = lines
        assert imported(text, tmp_path) == expected
        if other == "0.95":  # two numbers: somebody is wrong
            found = {row["code"]: row["at_stake_ms"] for row in report("issues")}
            assert found["samples_differ"] == len(SCRAPES) * 30_000


@pytest.mark.parametrize("blank", BLANKS)
def test_blank_of_a_side_metric_makes_nothing_suspect(
    blank: str, tmp_path: Path
) -> None:
    text = Text()
    text.node("n1", 1, SCRAPES)
    text.pod("train", SCRAPES, node="n1", bound=HOUR_ZERO)
    text.utilization("GPU-1", "n1", dict.fromkeys(SCRAPES, 0.0), pod="train")
    labels = {"UUID": "GPU-1", "Hostname": "n1", "namespace": "vision", "pod": "train"}
    for at in SCRAPES:
        text.add("DCGM_FI_DEV_GPU_UTIL", labels, blank, at)
        text.add("DCGM_FI_DEV_POWER_USAGE", labels, blank, at)
        text.add("DCGM_FI_DEV_POWER_MGMT_LIMIT", labels, 400, at)
        text.add("DCGM_FI_DEV_FB_USED", labels, blank, at)
        text.add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", labels, blank, at)
    imported(text, tmp_path)
    [row] = report("usage")
    assert row["idle_ms"] == row["allocated_ms"] == (END - HOUR_ZERO) * 1000
    assert row["busy_ms"] == row["unknown_ms"] == 0
