"""Who may see what: one rule for a page and for the same rows in REST.

Rows of teams are limited by `Scope` in the queries; a right defines who may open a list at all.
The table of `docs/access.md` lists every right, and a test checks pages and API for each role.
"""

from collections.abc import Callable
from dataclasses import dataclass

from accounting.access.scope import Scope


@dataclass(frozen=True, slots=True)
class Right:
    """Who may do or see one thing.

    Attributes:
        who: as text, for the error page.
        allows: whether a scope has the right.
        is_hidden: its page is 404 for others, as if it did not exist. REST always returns 404 for
            resources that may not be read.
    """

    who: str
    allows: Callable[[Scope], bool]
    is_hidden: bool = False


def _anybody(_scope: Scope) -> bool:
    return True


def _sees_all(scope: Scope) -> bool:
    return scope.sees_all


def _is_finance(scope: Scope) -> bool:
    return scope.is_finance


def _sees_all_or_leads(scope: Scope) -> bool:
    return scope.sees_all or bool(scope.lead_of)


def _is_admin(scope: Scope) -> bool:
    return scope.is_admin


SIGNED_IN = Right("people with an account", _anybody)
"""Everybody has access, and sees the rows of their teams."""

WHOLE_FLEET = Right("finance and administrators", _sees_all)
"""Data that belongs to no single team: capacity, queues, attribution as a whole."""

ONE_GPU = Right("finance and administrators", _sees_all, is_hidden=True)
"""A GPU through time shows all its holders; whether it exists is not revealed either."""

DATA_ISSUES = Right("finance and administrators", _sees_all)
"""Faults in the data name pods and GPUs of every team."""

BUDGETS = Right("team leads, finance and administrators", _sees_all_or_leads)
"""Leads read the budgets, anomalies, statements and charges of their teams."""

INBOX = Right("team leads, finance and administrators", _sees_all_or_leads)
"""Who decides about anything reads what waits for them, and what became of it."""

CONTESTS = Right("team leads, finance and administrators", _sees_all_or_leads)
"""Leads contest statements of their teams and read the answers; finance answers."""

WASTE = Right("team leads, finance and administrators", _sees_all_or_leads)
"""Leads read the wasted time of their teams; free time of nodes belongs to no team."""

ALERTS = Right("team leads, finance and administrators", _sees_all_or_leads)
"""Leads read the alerts about their teams, and archive them; others belong to no team."""

SET_BUDGETS = Right("finance and administrators", _is_finance)
"""Budgets are created, changed and ended by finance."""

PREPARE_PRICES = Right("finance and administrators", _is_finance)
"""Finance checks price lists and prepares them; administrators save them."""

SET_CONVERSIONS = Right("finance and administrators", _is_finance)
"""Conversion rates are entered by finance; everybody who reads prices reads them."""

PERIODS = Right("finance and administrators", _is_finance)
"""Closing months, overriding checks, reopening, methods, credits and adjustments."""

BILLS = Right("finance and administrators", _is_finance, is_hidden=True)
"""Bills of providers: what the organization pays, and how far it is from the cost prices."""

AUDIT = Right("finance and administrators", _sees_all)
"""Finance checks who changed prices and rules; the audit log contains no secrets."""

ADMINISTRATION = Right("administrators", _is_admin)
"""Changes of prices, rules and tiers, and the setup."""
