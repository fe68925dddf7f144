"""The tables of scheduler_view, re-exported."""

from scheduler_view.models.change import (
    ChangeSet,
    ChangeState,
    ChangeStep,
    IdempotencyKey,
    StepState,
)
from scheduler_view.models.observation import Drift, Look, Observation
from scheduler_view.models.quota import QuotaTarget, Tier

__all__ = [
    "ChangeSet",
    "ChangeState",
    "ChangeStep",
    "Drift",
    "IdempotencyKey",
    "Look",
    "Observation",
    "QuotaTarget",
    "StepState",
    "Tier",
]
