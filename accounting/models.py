"""The tables of accounting, re-exported."""

from accounting.access.models.account import (
    Account,
    SignInLimit,
    SignInOutcome,
    SignInRecord,
)
from accounting.access.models.billing import Billing
from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Binding, BindingKind, Team
from accounting.access.models.tokens import ApiToken
from accounting.bills.models import Bill, BillLine
from accounting.budgets.models import (
    Budget,
    BudgetAlert,
    BudgetMeasure,
    BudgetUnit,
    BudgetVersion,
    ForecastRecord,
)
from accounting.explore.models import SavedView
from accounting.exports.models import ExportJob, ExportState
from accounting.kit.models.audit import AuditLink
from accounting.kit.models.idempotency import IdempotencyKey
from accounting.metering.models.cluster import (
    AddedResource,
    Cluster,
    Gpu,
    GpuGeometry,
    GpuPresence,
    GpuSpan,
    Node,
    NodeFact,
    NodeSpan,
    SharePolicy,
    SharePolicyName,
    Source,
    SourceKind,
)
from accounting.metering.models.evidence import (
    GpuLabelHour,
    KubeJob,
    KubeJobObject,
    KubeJobOverlap,
    KubeJobRun,
    NodeProvider,
    NodeScraper,
    OwnPod,
    ScrapeHour,
    Scraper,
    ScrapeSpan,
)
from accounting.metering.models.ledger import (
    BufferBlock,
    BufferSeries,
    DataIssue,
    DirtyHour,
    IngestWindow,
    IssueSeverity,
    PendingGpuHour,
    PendingRetirement,
    RetiredHour,
    WindowState,
)
from accounting.metering.models.node_state import NodeState, NodeStateRead
from accounting.metering.models.pod import (
    EndedBy,
    Namespace,
    NamespaceLabels,
    Owner,
    Pod,
    PodAttribution,
    PodHold,
    ResourceClaim,
    Workload,
)
from accounting.metering.models.queue import QueuedJob, QueueSample
from accounting.metering.models.usage import (
    FactFlag,
    UsageDay,
    UsageHour,
    UsageWindow,
    UtilizationMetric,
)
from accounting.months.models.charge import (
    BookedLine,
    ChargeLine,
    LineHours,
    RunningLine,
)
from accounting.months.models.close import CloseOverride, ReopenRequest
from accounting.months.models.close_request import CloseRequest, CloseRequestState
from accounting.months.models.contest import (
    UNSETTLED,
    AnswerKind,
    Contest,
    ContestAct,
    Contested,
    ContestState,
    ContestStep,
)
from accounting.months.models.entry import Entry, EntryKind
from accounting.months.models.period import BillingPeriod, PeriodRevision, Statement
from accounting.months.models.team_quota import TeamQuota
from accounting.notifications.models import (
    Notification,
    NotificationKind,
    NotificationState,
)
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import PriceKind, PriceList, UnitPrice
from accounting.prices.models.price_draft import DraftState, PriceDraft

__all__ = [
    "UNSETTLED",
    "Account",
    "AddedResource",
    "AnswerKind",
    "ApiToken",
    "AuditLink",
    "Bill",
    "BillLine",
    "Billing",
    "BillingPeriod",
    "Binding",
    "BindingKind",
    "BookedLine",
    "Budget",
    "BudgetAlert",
    "BudgetMeasure",
    "BudgetUnit",
    "BudgetVersion",
    "BufferBlock",
    "BufferSeries",
    "ChargeLine",
    "CloseOverride",
    "CloseRequest",
    "CloseRequestState",
    "Cluster",
    "Contest",
    "ContestAct",
    "ContestState",
    "ContestStep",
    "Contested",
    "ConversionRate",
    "DataIssue",
    "DirtyHour",
    "DraftState",
    "EndedBy",
    "Entry",
    "EntryKind",
    "ExportJob",
    "ExportState",
    "FactFlag",
    "ForecastRecord",
    "Gpu",
    "GpuGeometry",
    "GpuLabelHour",
    "GpuPresence",
    "GpuSpan",
    "IdempotencyKey",
    "IngestWindow",
    "IssueSeverity",
    "KubeJob",
    "KubeJobObject",
    "KubeJobOverlap",
    "KubeJobRun",
    "LabelPurpose",
    "LabelSpelling",
    "LineHours",
    "Membership",
    "Namespace",
    "NamespaceLabels",
    "Node",
    "NodeFact",
    "NodeProvider",
    "NodeScraper",
    "NodeSpan",
    "NodeState",
    "NodeStateRead",
    "Notification",
    "NotificationKind",
    "NotificationState",
    "OrganizationRole",
    "OwnPod",
    "Owner",
    "PendingGpuHour",
    "PendingRetirement",
    "PeriodRevision",
    "Person",
    "Pod",
    "PodAttribution",
    "PodHold",
    "PriceDraft",
    "PriceKind",
    "PriceList",
    "QueueSample",
    "QueuedJob",
    "ReopenRequest",
    "ResourceClaim",
    "RetiredHour",
    "RunningLine",
    "SavedView",
    "ScrapeHour",
    "ScrapeSpan",
    "Scraper",
    "SharePolicy",
    "SharePolicyName",
    "SignInLimit",
    "SignInOutcome",
    "SignInRecord",
    "Source",
    "SourceKind",
    "Statement",
    "Team",
    "TeamQuota",
    "TeamRole",
    "UnitPrice",
    "UsageDay",
    "UsageHour",
    "UsageWindow",
    "UtilizationMetric",
    "WindowState",
    "Workload",
]
