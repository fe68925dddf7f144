"""Calibrations and answers as rows and lines, for the command and the page."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scheduler_view.what_if.rules.calibration import Calibration, Trust
from scheduler_view.what_if.rules.what_ifs.spot_answer import SpotAnswer
from scheduler_view.what_if.rules.what_ifs.what_if import ScenarioAnswer

MEASURES = {  # text, and what one of its unit is in the unit of the outcome
    "gpu_hours": ("GPU-hours held in a week", 1),
    "wait_s": ("mean wait in minutes", 60),
    "longest_wait_s": ("wait in minutes that 5% exceed", 60),
    "unbound": ("units of a week that never start", 1),
}
_VERDICTS = {
    Trust.CALIBRATED: "{} is calibrated: ranges, and money if a rate is given.",
    Trust.INEXACT: "{} is not exact enough for money; ranges include its error.",
    Trust.REFUSED: "{} is too far from what was recorded: no answer.",
}


def calibration_line(one: Calibration) -> str:
    """The error of the replay of what happened."""
    return (
        f"what happened, replayed with {one.policy}: {one.near:,} of {one.units:,} units "
        f"({one.near_share:.1%}) bound within 60 s of the recorded bind, "
        f"{one.hours:,.1f} GPU-hours instead of {one.recorded_hours:,.1f} "
        f"({one.hours_error:.2%} off); {one.held:,} ({one.held_share:.1%}) waited for something "
        "other than GPUs, and do so in the replay"
    )


def verdict_line(one: Calibration) -> str:
    """What may be answered."""
    return _VERDICTS[one.trust].format(one.policy)


def answer_rows(answer: ScenarioAnswer) -> Iterator[dict[str, Any]]:
    """A row for each measure, with its range and the range of its change."""
    for one in answer.ranges:
        text, unit = MEASURES[one.measure]
        if not one.is_known:
            yield _exact(answer, text, "") | {"clear": "cannot be computed"}
            continue
        yield {
            "scenario": answer.scenario.name,
            "measure": text,
            "low": f"{one.low / unit:.1f}",
            "high": f"{one.high / unit:.1f}",
            "change_low": f"{one.change_low / unit:+.1f}",
            "change_high": f"{one.change_high / unit:+.1f}",
            "clear": "yes" if one.is_clear else "no",
        }
    if answer.added_milli:
        yield _exact(answer, "installed GPUs", f"{answer.added_milli / 1000:+g}")
        if answer.weekly_cost is not None:
            cost = f"{answer.weekly_cost:.2f}"
            yield _exact(answer, "cost of installed GPUs a week", cost)
    if answer.spot is not None:
        yield from _spot_rows(answer, answer.spot)


def _spot_rows(answer: ScenarioAnswer, spot: SpotAnswer) -> Iterator[dict[str, Any]]:
    """What runs on spot nodes; nothing more than before ran there without the scenario."""
    share = f"{float(spot.share):.1%}"
    yield _exact(answer, "share of the work that may run on spot", share)
    for measure, (low, high) in (
        ("GPU-hours on spot in a week", spot.hours),
        ("pods preempted on spot in a week", spot.preempted),
    ):
        yield _added(answer, measure, f"{low:.1f}", f"{high:.1f}")
    if spot.cost is not None:
        least, most = (f"{amount:.2f}" for amount in spot.cost)
        yield _added(answer, "cost of GPUs on spot a week", least, most)
    if spot.change is not None:
        yield _change_of_cost(answer, spot.change)


def _change_of_cost(
    answer: ScenarioAnswer, change: tuple[Decimal, Decimal]
) -> dict[str, Any]:
    measure = (
        "cost a week with installed GPUs and spot"
        if answer.added_milli
        else "cost a week if what moved is not paid on demand"
    )
    least, most = change
    return _exact(answer, measure, f"{least:+.2f}") | {
        "change_high": f"{most:+.2f}",
        "clear": "yes" if least > 0 or most < 0 else "no",
    }


def _added(answer: ScenarioAnswer, measure: str, low: str, high: str) -> dict[str, Any]:
    """A range of what there was nothing of before."""
    change = {"change_low": f"+{low}", "change_high": f"+{high}"}
    return _exact(answer, measure, "") | {"low": low, "high": high} | change


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
