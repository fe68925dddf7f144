"""Open change sets, and the edits that were replaced in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import QuerySet

from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import (
    Edit,
    edit_fields,
    same_request,
    stored_edit,
)

MOST_OFFERED = 20
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """A change set to which its author can add edits.

    Attributes:
        message: `draft` or `planned`.
        has_times: it starts later or is a loan; this then applies to all its edits.
    """

    id: int
    cluster: str
    message: str
    count: int
    reason: str
    has_times: bool

    @property
    def number(self) -> str:
        """Its displayed number."""
        return f"CS-{self.id}"


def open_drafts(user_id: int | None, cluster: str = "") -> list[OpenDraft]:
    """A person's change sets that are not yet approved, newest first.

    Undo change sets are not offered, because they must restore a complete state.
    """
    rows = ChangeSet.objects.filter(
        author_id=user_id,
        author__isnull=False,
        undoes__isnull=True,
        state__in=(ChangeState.DRAFT, ChangeState.PLANNED),
    ).select_related("cluster")
    if cluster:
        rows = rows.filter(cluster__name=cluster)
    return [
        OpenDraft(
            row.pk,
            row.cluster.name,
            row.get_state_display().lower(),
            len(row.edits),
            row.reason,
            row.starts_at is not None or row.ends_at is not None,
        )
        for row in rows.order_by("-pk")[:MOST_OFFERED]
    ]


def default_draft(drafts: Sequence[OpenDraft]) -> int | None:
    """The default of a new edit: the newest without times."""
    return next((one.id for one in drafts if not one.has_times), None)


def asked_before(number: int) -> dict[tuple[str, ...], Values]:
    """The edit that each edit of a change set replaced, by key, from the database's history.

    The latest one that differs from the current edit; edits that were never replaced, or were
    removed from the change set, are not included.
    """
    lists = _events(number).values_list("edits", flat=True)
    now: dict[tuple[str, ...], Edit] = {}
    before: dict[tuple[str, ...], Edit] = {}
    for edits in lists:
        found: dict[tuple[str, ...], Edit] = {}
        found |= {edit.key: edit for edit in map(stored_edit, edits)}
        for key, one in found.items():
            if key in now and not same_request([now[key]], [one]):
                before[key] = now[key]
        now = found
    return {
        key: edit_fields(one)
        for key, one in before.items()
        if key in now and not same_request([now[key]], [one])
    }


def editors(number: int) -> set[str]:
    """Names of the authors of a change set's edits: its author, and everybody who added edits.

    None of them can give the second approval.
    """
    found: set[str] = set()
    last: object = None
    for edits, actor in _events(number).values_list(
        "edits", "pgh_context__metadata__actor"
    ):
        if edits != last:
            found.add(actor or "")
        last = edits
    return found


def _events(number: int) -> QuerySet[Any]:
    events = apps.get_model("scheduler_view", "ChangeSetEvent")
    found: QuerySet[Any] = events.objects.filter(pgh_obj_id=number)
    return found.order_by("pgh_id")
