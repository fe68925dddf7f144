"""The answer to a what-if: ranges over weeks, as wide as the replay's own error (S36)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from scheduler_view.what_if.rules.calibration import Trust
from scheduler_view.what_if.rules.outcome import WeekOutcome
from scheduler_view.what_if.rules.recorded import WEEK_MS, RecordedWeeks

MEASURES = ("gpu_hours", "wait_s", "longest_wait_s", "unbound")


@dataclass(frozen=True, slots=True)
class AnswerRange:
    """A measure of a week in the scenario, and its change from the replay of what happened.

    Attributes:
        low, high: the lowest and highest of all weeks, widened by the error of that week: how far
            the replay of what happened is from what was recorded.
        change_low, change_high: the same of the difference.
        is_known: False if a week of it cannot be computed; then all are 0.
        is_clear: the change has the same sign in the whole range.
    """

    measure: str
    low: float
    high: float
    change_low: float
    change_high: float
    is_known: bool = True

    @property
    def is_clear(self) -> bool:
        """False if the weeks and the error do not even say whether it is more or less."""
        return self.change_low > 0 or self.change_high < 0


def ranges(
    recorded: Sequence[WeekOutcome],
    baseline: Sequence[WeekOutcome],
    changed: Sequence[WeekOutcome],
) -> list[AnswerRange]:
    """One range for each measure; all three have the same weeks.

    Raises:
        ValueError: without a week.
    """
    found = []
    for measure in MEASURES:
        weeks = [
            tuple(getattr(one, measure) for one in week)
            for week in zip(recorded, baseline, changed, strict=True)
        ]
        if any(value is None for week in weeks for value in week):
            found.append(AnswerRange(measure, 0, 0, 0, 0, is_known=False))
            continue
        rows = [(float(was), float(base), float(new)) for was, base, new in weeks]
        errors = [abs(base - was) for was, base, _ in rows]
        values = [new for _, _, new in rows]
        changes = [new - base for _, base, new in rows]
        found.append(
            AnswerRange(
                measure,
                max(0.0, min(v - e for v, e in zip(values, errors, strict=True))),
                max(v + e for v, e in zip(values, errors, strict=True)),
                min(c - e for c, e in zip(changes, errors, strict=True)),
                max(c + e for c, e in zip(changes, errors, strict=True)),
            )
        )
    return found


def weekly_cost(
    before: RecordedWeeks, after: RecordedWeeks, rate: Decimal, trust: Trust
) -> Decimal | None:
    """What the installed GPUs of a week cost more: GPU-hours x rate.

    None unless the replay is calibrated: S36 allows no money then.
    """
    if trust is not Trust.CALIBRATED:
        return None
    milli = after.installed_milli - before.installed_milli
    return Decimal(milli) * WEEK_MS * rate / (3_600_000 * 1000)
