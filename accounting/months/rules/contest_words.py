"""The words of contests: what finance can answer, how the team reads it, tones of states (M34)."""

ANSWERS = {
    "credit": "Credit to {team}",
    "charge": "Extra charge to {team}",
    "mapping": "A changed rule",
    "reason": "A reason why the amount stays",
}
"""What finance can choose; the first two are entries."""

ANSWERED = {
    "credit": "a credit",
    "charge": "an extra charge",
    "mapping": "with a changed rule",
    "reason": "that the amount stays",
}
"""The same as a step says it, after "answered": an entry's words follow its number."""

TONES = {
    "open": "warn",  # waits for finance
    "answered": "mute",
    "accepted": "ok",
    "withdrawn": "mute",
}
"""The tone of a badge by state."""
