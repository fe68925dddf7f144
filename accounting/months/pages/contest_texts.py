"""How the states of a contest look (money.md M34)."""

from accounting.months.models.contest import ContestState

CONTEST_TONES: dict[str, str] = {
    ContestState.OPEN: "warn",
    ContestState.ANSWERED: "mute",
    ContestState.ACCEPTED: "ok",
    ContestState.WITHDRAWN: "mute",
}
"""The tone of a badge by state: open ones wait for finance."""
