"""The rules of alerts: what each watches, and the thresholds that it can have (alerts.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from accounting.core.money_text import amount_text


class AlertRule(StrEnum):
    """What may need a person, in the order of the page of rules."""

    IDLE = "idle"
    BUDGET = "budget"
    WAIT = "wait"
    SPEND = "spend"
    WASTE = "waste"
    GROWTH = "growth"
    NAMESPACE = "namespace"
    DRIFT = "drift"
    LATE = "late"
    ISSUE = "issue"
    HOT = "hot"
    ECC = "ecc"
    NVLINK = "nvlink"
    XID = "xid"
    FULL = "full"
    DRIVER = "driver"


class ThresholdUnit(StrEnum):
    """What a threshold counts."""

    MINUTES = "minutes"
    PERCENT = "percent"
    MONEY = "money"  # of the billing currency
    GPU_HOURS = "gpu-hours"
    CELSIUS = "celsius"
    HOURS = "hours"
    NONE = "none"  # the rule has no threshold


@dataclass(frozen=True, slots=True)
class RuleWords:
    """One rule in words.

    Attributes:
        label: its name.
        when: the condition; `{}` is the threshold.
        unit, choices, usual: of the threshold; without a unit the only choice is 0.
        does: the button of its alerts.
        number: in docs/alerts.md.
        costs, lasts: what its money is, and what its other figure is, as words below them.
        is_of_teams: its alerts are about teams, and leads may choose a threshold for theirs.
        metric: that it is read from, as the exporter names it; "" if the ledger itself has it.
        is_watched: False if the product does not read that metric.
    """

    label: str
    when: str
    unit: ThresholdUnit
    choices: tuple[int, ...]
    usual: int
    does: str
    number: str
    costs: str = ""
    lasts: str = "since it was found"
    is_of_teams: bool = False
    metric: str = ""
    is_watched: bool = True


_DAY = 1440  # minutes

RULES: Mapping[AlertRule, RuleWords] = {
    AlertRule.IDLE: RuleWords(
        "Idle GPUs",
        "Held and idle for {}",
        ThresholdUnit.MINUTES,
        (30, 60, 120, 240, 480),
        120,
        "Ask the owner",
        "R1",
        costs="so far",
        lasts="idle",
        is_of_teams=True,
    ),
    AlertRule.BUDGET: RuleWords(
        "Budget pace",
        "Forecast above the budget by {}",
        ThresholdUnit.PERCENT,
        (0, 2, 5, 10),
        0,
        "Open budget",
        "R2",
        costs="expected over",
        is_of_teams=True,
    ),
    AlertRule.WAIT: RuleWords(
        "Work waits",
        "Waiting for {}",
        ThresholdUnit.MINUTES,
        (60, 240, 720, _DAY),
        240,
        "See why",
        "R3",
        lasts="waiting",
        is_of_teams=True,
    ),
    AlertRule.SPEND: RuleWords(
        "Spend jump",
        "An unusual day, above what is expected by {}",
        ThresholdUnit.PERCENT,
        (25, 30, 50, 100),
        30,
        "See the day",
        "R4",
        costs="above what was expected",
        is_of_teams=True,
    ),
    AlertRule.WASTE: RuleWords(
        "Waste",
        "Findings about one family of {} in 7 days",
        ThresholdUnit.MONEY,
        (50, 100, 250, 500, 1000),
        100,
        "See the findings",
        "R5",
        costs="in seven days",
        is_of_teams=True,
    ),
    AlertRule.GROWTH: RuleWords(
        "Memory only grows",
        "Peak GPU memory grows every hour for {}, by a fifth or more",
        ThresholdUnit.HOURS,
        (4, 6, 12, 24),
        6,
        "Open workload",
        "R6",
        lasts="growing",
        is_of_teams=True,
        metric="DCGM_FI_DEV_FB_USED",
    ),
    AlertRule.NAMESPACE: RuleWords(
        "No team",
        "A namespace holds GPUs without a team for {}",
        ThresholdUnit.MINUTES,
        (0, _DAY, 3 * _DAY, 7 * _DAY),
        _DAY,
        "Map to a team",
        "R7",
        costs="held without a team",
        lasts="without a team",
    ),
    AlertRule.DRIFT: RuleWords(
        "Quota differs",
        "The cluster differs from what is set here for {}",
        ThresholdUnit.MINUTES,
        (0, 60, 360, _DAY),
        60,
        "Compare",
        "R8",
        lasts="different",
    ),
    AlertRule.LATE: RuleWords(
        "Data late",
        "No new data of a cluster for {}",
        ThresholdUnit.MINUTES,
        (15, 30, 60, 180),
        30,
        "Data health",
        "R9",
        lasts="without new data",
    ),
    AlertRule.ISSUE: RuleWords(
        "Data issue",
        "A fault in the data with {} or more at stake",
        ThresholdUnit.GPU_HOURS,
        (0, 1, 10, 100),
        1,
        "Data health",
        "R10",
        costs="at stake",
    ),
    AlertRule.HOT: RuleWords(
        "Hot GPU",
        "A GPU reaches {}",
        ThresholdUnit.CELSIUS,
        (80, 85, 90, 95),
        85,
        "Open GPU",
        "R11",
        lasts="peak",
        metric="DCGM_FI_DEV_GPU_TEMP",
    ),
    AlertRule.ECC: RuleWords(
        "GPU memory errors",
        "A GPU reports a double-bit error, or a row that cannot be remapped",
        ThresholdUnit.NONE,
        (0,),
        0,
        "Open GPU",
        "R12",
        metric="DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    ),
    AlertRule.NVLINK: RuleWords(
        "NVLink errors",
        "A GPU reports XID 74",
        ThresholdUnit.NONE,
        (0,),
        0,
        "Open GPU",
        "R13",
        metric="DCGM_FI_DEV_XID_ERRORS",
    ),
    AlertRule.XID: RuleWords(
        "GPU lost or stuck",
        "A GPU reports XID 79, 95 or 119",
        ThresholdUnit.NONE,
        (0,),
        0,
        "Open GPU",
        "R14",
        metric="DCGM_FI_DEV_XID_ERRORS",
    ),
    AlertRule.FULL: RuleWords(
        "Memory nearly full",
        "GPU memory is 95% full",
        ThresholdUnit.NONE,
        (0,),
        0,
        "",
        "R15",
        metric="DCGM_FI_DEV_FB_FREE",
        is_watched=False,
    ),
    AlertRule.DRIVER: RuleWords(
        "Driver mismatch",
        "Nodes of one pool have different driver versions",
        ThresholdUnit.NONE,
        (0,),
        0,
        "",
        "R16",
        metric="DCGM_FI_DRIVER_VERSION",
        is_watched=False,
    ),
}

WATCHED = tuple(rule for rule, words in RULES.items() if words.is_watched)
"""Rules that can fire."""

NOT_SPENT = frozenset({AlertRule.BUDGET, AlertRule.ISSUE})
"""Rules whose money is expected, or at stake."""

LOCKS = {rule: number for number, rule in enumerate(AlertRule)}
"""The number of each rule's lock."""


def threshold_text(unit: ThresholdUnit, value: int, currency: str = "") -> str:
    """A threshold in words: `2 h`, `5%`, `€100`; "" without a unit."""
    if unit == ThresholdUnit.MINUTES:
        for size, name in ((_DAY, "d"), (60, "h")):
            if value and value % size == 0:
                return f"{value // size} {name}"
        return f"{value} min"
    texts = {
        ThresholdUnit.PERCENT: f"{value}%",
        ThresholdUnit.MONEY: amount_text(Decimal(value), currency, 0),
        ThresholdUnit.GPU_HOURS: f"{value} GPU-h",
        ThresholdUnit.CELSIUS: f"{value} °C",
        ThresholdUnit.HOURS: f"{value} h",
    }
    return texts.get(unit, "")


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds of one rule.

    Attributes:
        organization: of everything that has none of its own; None: the rule is off.
        teams: by number of the team; None: off for this team.
    """

    organization: int | None
    teams: Mapping[int, int | None]

    def of(self, team: int | None) -> int | None:
        """The threshold of a team; None if the rule is off for it."""
        return self.teams.get(team or 0, self.organization)
