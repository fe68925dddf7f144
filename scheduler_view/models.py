"""The tables of scheduler_view, re-exported."""

from scheduler_view.models.change import (
    CAME_TO_NOTHING,
    ChangeSet,
    ChangeState,
    ChangeStep,
    StepState,
)
from scheduler_view.models.memory import (
    FreeCpuSample,
    KeptNode,
    PodNeedRecord,
    WaitStretch,
)
from scheduler_view.models.observation import (
    Drift,
    Observation,
    ObservationRun,
    Preemption,
)
from scheduler_view.models.queues import (
    EstimateSummary,
    PoolSample,
    StartEstimate,
    WaitRecord,
    WaitSummary,
)
from scheduler_view.models.quota import QueueTarget, QuotaTarget, Tier
from scheduler_view.models.waits import UnitWait
from scheduler_view.models.waste import (
    HeldDay,
    RecommendationDecision,
    RecommendationState,
    WasteDay,
    WasteFinding,
)
from scheduler_view.models.what_if import WhatIfRun, WhatIfState

__all__ = [
    "CAME_TO_NOTHING",
    "ChangeSet",
    "ChangeState",
    "ChangeStep",
    "Drift",
    "EstimateSummary",
    "FreeCpuSample",
    "HeldDay",
    "KeptNode",
    "Observation",
    "ObservationRun",
    "PodNeedRecord",
    "PoolSample",
    "Preemption",
    "QueueTarget",
    "QuotaTarget",
    "RecommendationDecision",
    "RecommendationState",
    "StartEstimate",
    "StepState",
    "Tier",
    "UnitWait",
    "WaitRecord",
    "WaitStretch",
    "WaitSummary",
    "WasteDay",
    "WasteFinding",
    "WhatIfRun",
    "WhatIfState",
]
