"""Holders that are idle now: leads see those of their teams, and ask their owners."""

from accounting.access.rights import WASTE
from accounting.access.scope import Scope
from accounting.kit.resources.resource import Filters, Resource, Verb
from scheduler_view.idle.actions import (
    AskOwner,
    IgnoreHolder,
    ask_owner,
    ignore_holder,
)
from scheduler_view.idle.reads import IdleRow, idle_row, idle_rows
from scheduler_view.quotas.reads.quotas import among


def _read(scope: Scope, filters: Filters) -> list[IdleRow]:
    return among(idle_rows(scope), filters)


ASK = Verb(
    "ask",
    ask_owner,
    AskOwner,
    WASTE,
    "Send a message to the owner of an idle holder, and record it.",
    title="Ask the owner",
)
IGNORE = Verb(
    "ignore",
    ignore_holder,
    IgnoreHolder,
    WASTE,
    "Leave an idle holder out of the list until a day, at most 92 days.",
    title="Ignore an idle holder",
)
IDLE_HOLDERS = Resource(
    "idle-holders",
    IdleRow,
    WASTE,
    _read,
    "List work that holds GPUs and has been idle for at least 15 minutes, dearest first.",
    "One of them, also if it is ignored.",
    item=idle_row,
    filters=("cluster", "team"),
    verbs=(ASK, IGNORE),
)
