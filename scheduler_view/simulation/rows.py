"""Calibrations and answers as rows and lines, for the command and the page."""

from collections.abc import Iterator
from typing import Any

from scheduler_view.domain.simulator.calibration import Calibration, Trust
from scheduler_view.domain.simulator.what_if import ScenarioAnswer

MEASURES = {
    "gpu_hours": "GPU-hours held in a week",
    "wait_s": "mean wait in seconds",
    "longest_wait_s": "wait in seconds that 5 % exceed",
    "unbound": "units of a week that never start",
}
_VERDICTS = {
    Trust.CALIBRATED: "{} is calibrated: ranges, and money if a rate is given.",
    Trust.INEXACT: "{} is not exact enough for money; ranges include its error.",
    Trust.REFUSED: "{} is too far from what was recorded: no answer.",
}


def calibration_line(one: Calibration) -> str:
    """The error of the replay of what happened."""
    return (
        f"what happened, replayed with {one.policy}: {one.near} of {one.units} units "
        f"({one.near_share:.1%}) bound within 60 s of the recorded bind, "
        f"{one.hours:.1f} GPU-hours instead of {one.recorded_hours:.1f} "
        f"({one.hours_error:.2%} off)"
    )


def verdict_line(one: Calibration) -> str:
    """What may be answered."""
    return _VERDICTS[one.trust].format(one.policy)


def answer_rows(answer: ScenarioAnswer) -> Iterator[dict[str, Any]]:
    """A row for each measure, with its range and the range of its change."""
    for one in answer.ranges:
        yield {
            "scenario": answer.scenario.name,
            "measure": MEASURES[one.measure],
            "low": f"{one.low:.1f}",
            "high": f"{one.high:.1f}",
            "change_low": f"{one.change_low:+.1f}",
            "change_high": f"{one.change_high:+.1f}",
            "clear": "yes" if one.is_clear else "no",
        }
    if not answer.added_milli:
        return
    yield _exact(answer, "installed GPUs", f"{answer.added_milli / 1000:+g}")
    if answer.weekly_cost is not None:
        cost = f"{answer.weekly_cost:.2f}"
        yield _exact(answer, "cost of installed GPUs a week", cost)


def _exact(answer: ScenarioAnswer, measure: str, value: str) -> dict[str, Any]:
    """A change that is not a range."""
    return {
        "scenario": answer.scenario.name,
        "measure": measure,
        "low": "",
        "high": "",
        "change_low": value,
        "change_high": value,
        "clear": "yes",
    }
