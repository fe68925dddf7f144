"""The entries of the navigation, in order, and who sees them."""

from dataclasses import dataclass

from accounting.access.scope import Scope


@dataclass(frozen=True, slots=True)
class NavItem:
    """One entry of the navigation; `key` follows `g` on the keyboard."""

    route: str
    label: str
    icon: str
    key: str = ""
    keeps_range: bool = False
    needs: str = ""  # "", team, lead, all, admin
    group: str = ""  # heading above it

    def is_for(self, scope: Scope) -> bool:
        """True if this scope may open it."""
        kept = {
            "": True,
            "team": scope.sees_any,
            "lead": scope.sees_all or bool(scope.lead_of),
            "all": scope.sees_all,
        }
        return scope.is_admin if self.needs == "admin" else kept[self.needs]


NAVIGATION = (
    NavItem("overview", "Overview", "layout-dashboard", "o", keeps_range=True),
    NavItem("teams", "Teams", "users", "t", keeps_range=True),
    NavItem("gpus", "GPUs and nodes", "cpu", "g"),
    NavItem("quotas", "Quotas", "gauge", "q"),
    NavItem("queues", "Queues", "clock", "k", needs="team"),
    NavItem("idle-holders", "Idle now", "moon", "d", needs="lead"),
    NavItem("waste", "Waste", "trash-2", "w", keeps_range=True, needs="lead"),
    NavItem("prices", "Prices", "tag", "p", needs="team"),
    NavItem("data-health", "Data health", "activity", "h"),
    NavItem("charges", "Charges", "table", "e", needs="lead", group="Finance"),
    NavItem("months", "Months", "calendar-days", "m", needs="all"),
    NavItem("contests", "Contests", "circle-question-mark", "n", needs="lead"),
    NavItem("bills", "Bills", "scroll-text", "f", needs="all"),
    NavItem("exports", "Exports", "download", "x", needs="lead"),
    NavItem("budgets", "Budgets", "chart-column", "b", needs="lead"),
    NavItem("anomalies", "Unusual days", "circle-alert", "u", needs="lead"),
    NavItem(
        "changes",
        "Quota changes",
        "file-diff",
        "c",
        needs="all",
        group="Administration",
    ),
    NavItem("tiers", "Priority tiers", "layers", "r", needs="all"),
    NavItem("what-if", "What-if", "chart-column", "i", needs="admin"),
    NavItem("people", "People and teams", "user", "y", needs="admin"),
    NavItem("attribution", "Attribution", "route", "a", needs="all"),
    NavItem("audit", "Audit log", "scroll-text", "l", needs="all"),
    NavItem("setup", "Setup", "list-checks", "s", needs="admin"),
)
