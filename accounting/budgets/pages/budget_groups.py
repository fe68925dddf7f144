"""Budgets by department, one page of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accounting.access.reads.teams import TeamRef
from accounting.budgets.pages.budget_lines import BudgetLine, budget_line
from accounting.budgets.reads.budgets import BudgetRow
from accounting.kit.pages.paging import ListPage, paged


@dataclass(frozen=True, slots=True)
class BudgetGroup:
    """The budgets of a department, and those of its teams."""

    name: str
    own: tuple[BudgetLine, ...]
    teams: tuple[BudgetLine, ...]


def budget_groups(
    rows: Sequence[BudgetRow], teams: Mapping[str, TeamRef], query: Mapping[str, Any]
) -> ListPage:
    """The page in the address: its departments; those of teams without one come last.

    A page has so many budgets of teams. A department whose teams are on two pages is on both, each
    time with its own budgets; one without budgets of teams counts as one.
    """
    own: dict[str, list[BudgetRow]] = {}
    of_teams: dict[str, list[BudgetRow]] = {}
    for row in rows:
        (of_teams if row.team else own).setdefault(row.department, []).append(row)
    names = sorted({*own, *of_teams}, key=lambda name: (not name, name))
    nothing: list[BudgetRow | None] = [None]
    page = paged(
        [(name, row) for name in names for row in of_teams.get(name, nothing)], query
    )
    shown: dict[str, list[BudgetRow]] = {}
    for name, row in page.lines:
        shown.setdefault(name, []).extend([row] if row else [])
    groups = (
        BudgetGroup(
            name,
            tuple(budget_line(row, teams) for row in own.get(name, ())),
            tuple(budget_line(row, teams) for row in found),
        )
        for name, found in shown.items()
    )
    return replace(page, lines=tuple(groups))
