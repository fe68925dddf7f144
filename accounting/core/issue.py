"""A fault in the data, as a value: never an exception, never dropped."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Issue:
    """A value or time that is not valid or cannot be attributed, where, and what to do about it.

    Attributes:
        code: stable identifier, such as `utilization_out_of_range`.
        subject: the GPU, pod, node or metric name that is affected.
        message: one sentence for a person.
        advice: what to do, one sentence.
        at_stake_ms: share-weighted milliseconds that it affects; 0 if none or unknown.
        first_ms, last_ms: when it was first and last seen.
        severity: `info`, `warning` or `error`.
    """

    code: str
    subject: str
    message: str
    first_ms: int
    last_ms: int
    advice: str = ""
    at_stake_ms: int = 0
    severity: str = "warning"
