"""What is said of the start of work that waits, as short texts (scheduling.md S18)."""

from scheduler_view.clusters.rules.wording import counted
from scheduler_view.queues.rules.like_waits import ENOUGH, StartWord

NO_ESTIMATE = "No estimate"
_TEXTS = {
    StartWord.MINUTES: "Likely within minutes",
    StartWord.HOUR: "Likely within an hour",
    StartWord.FOUR_HOURS: "Likely within 4 hours",
    StartWord.EVENING: "Likely by this evening",
    StartWord.TODAY: "Likely today",
    StartWord.DAY: "Likely within a day",
}


def start_texts(word: str, like: int, kept: int) -> tuple[str, str]:
    """The text, and what it rests on.

    Args:
        word: a `StartWord`, or empty if nothing is known.
        like, kept: as in `SaidStart`.
    """
    if not word:
        return NO_ESTIMATE, ""
    if word in _TEXTS:
        return _TEXTS[StartWord(word)], f"{kept} of {like} such waits"
    reasons = {
        StartWord.ENDLESS: "running work has no end",
        StartWord.LONG: f"within a day: {kept} of {like} such waits",
        StartWord.FEW: _few(like),
    }
    return NO_ESTIMATE, reasons[StartWord(word)]


def _few(like: int) -> str:
    if not like:
        return f"no similar wait lasted this long; {ENOUGH} are needed"
    waits = counted(like, "similar wait")
    return f"only {waits} lasted this long; {ENOUGH} are needed"
