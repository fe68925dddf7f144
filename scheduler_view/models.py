"""The tables of scheduler_view, re-exported."""

import accounting.models  # noqa: F401  # first: pghistory puts models of events there
from scheduler_view.alerts.models import (
    Alert,
    AlertCheck,
    AlertNote,
    AlertThreshold,
)
from scheduler_view.changes.models import (
    CAME_TO_NOTHING,
    ChangeSet,
    ChangeState,
    ChangeStep,
    StepState,
)
from scheduler_view.clusters.models import (
    Drift,
    Observation,
    ObservationRun,
    Preemption,
)
from scheduler_view.idle.models import IdleAct, IdleHold, IdleLook, IdleNote
from scheduler_view.queues.models.memory import (
    FreeCpuSample,
    KeptNode,
    PodNeedRecord,
    WaitStretch,
)
from scheduler_view.queues.models.queues import (
    EstimateSummary,
    PoolSample,
    StartEstimate,
    WaitSummary,
)
from scheduler_view.quotas.models import QueueTarget, QuotaTarget, Tier
from scheduler_view.savings.models import (
    HeldDay,
    RecommendationDecision,
    RecommendationState,
    WasteDay,
    WasteFinding,
)
from scheduler_view.waits.models import UnitWait, WaitRecord
from scheduler_view.what_if.models import WhatIfRun, WhatIfState

__all__ = [
    "CAME_TO_NOTHING",
    "Alert",
    "AlertCheck",
    "AlertNote",
    "AlertThreshold",
    "ChangeSet",
    "ChangeState",
    "ChangeStep",
    "Drift",
    "EstimateSummary",
    "FreeCpuSample",
    "HeldDay",
    "IdleAct",
    "IdleHold",
    "IdleLook",
    "IdleNote",
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
