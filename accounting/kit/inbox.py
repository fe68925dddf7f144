"""What waits for a person, declared once for each kind of work, and what became of it.

A subject declares a `Kind`: how many rows wait, as a part of one statement that every page asks;
the rows; and those that were done. `scheduler_view/inbox` puts all kinds together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from accounting.access.scope import Scope
from accounting.kit.rows import (
    GpuHours,
    Moment,
    TextOrNull,
    column,
    listed,
    member,
)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks what waits for them, and when.

    Attributes:
        user_id: 0 for a command, which is nobody's: it sees what waits for any administrator.
    """

    scope: Scope
    user_id: int
    username: str
    at: datetime

    @property
    def values(self) -> dict[str, Any]:
        """Parameters that every count may name; a kind has its own beside them."""
        return {
            "finance": self.scope.is_finance,
            "admin": self.scope.is_admin,
            "led": list(self.scope.lead_of),
            "user": self.user_id,
            "username": self.username,
            "at": self.at,
        }


@listed("InboxItem")
class InboxRow:
    """One piece of work that waits for a person.

    Attributes:
        what: in words, with its figure if that is not an amount.
        about: why, or where; one line.
        amount, gpu_ms: what is at stake.
        asked_by: who waits; "" for what the ledger found itself.
        until: it lapses then; None for what does not lapse.
        does: the button to the page where it is done.
        teams: slugs of those that it is about; empty for what is about none or all.
    """

    kind: str = column()
    what: str = column()
    about: TextOrNull = column(default="")
    team: TextOrNull = column("the only team that it is about", default="")
    amount: Decimal | None = column(default=None)
    currency: TextOrNull = column(default="")
    gpu_ms: GpuHours | None = column(name="gpu_hours", default=None)
    asked_by: TextOrNull = column(default="")
    since: Moment = column()
    until: Moment | None = column("it lapses then", default=None)
    does: str = column("what a person does about it", name="action")

    @member("the page where it is done")
    def url(self) -> str:
        """Its address without the host."""
        return address(self.route, self.args, self.query)

    route: str
    args: Sequence[str | int] = ()
    query: Mapping[str, str] = field(default_factory=dict)
    teams: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DoneRow:
    """What became of one piece of work.

    Attributes:
        outcome: `Approved`, `Answered`.
        by: "" for what ended without a decision: its cause is gone.
        teams: as of `InboxRow`.
    """

    kind: str
    what: str
    outcome: str
    by: str
    at: datetime
    route: str
    args: Sequence[str | int] = ()
    query: Mapping[str, str] = field(default_factory=dict)
    teams: Sequence[str] = ()

    @property
    def url(self) -> str:
        """The address of its page, without the host."""
        return address(self.route, self.args, self.query)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work that waits.

    Attributes:
        name: of rows over REST.
        label: of several, as a table names the kind.
        place: the route of the list where it is done; its entry of the navigation has the number.
        may: who can do it at all.
        count: SELECT of how many wait, in terms of `Asker.values` and `values`.
        rows: those that wait; as many as `count` says.
        done: those that a scope may read and that ended at this time or later.
        values: of `count`, with names of their own.
        is_of_teams: its rows may name teams; others are on no page of a team.
    """

    name: str
    label: str
    place: str
    may: Callable[[Scope], bool]
    count: str
    rows: Callable[[Asker], Sequence[InboxRow]]
    done: Callable[[Scope, datetime], Sequence[DoneRow]]
    values: Callable[[Asker], Mapping[str, Any]] = lambda _: {}
    is_of_teams: bool = False


def address(route: str, args: Sequence[str | int], query: Mapping[str, str]) -> str:
    """The address of a page, without the host."""
    path = reverse(route, args=[*args])
    return f"{path}?{urlencode(query)}" if query else path
