"""Change sets that take more edits, and what an edit of one asked for before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import QuerySet

from scheduler_view.domain.plan.edit import Edit, edit_fields, same_request, stored_edit
from scheduler_view.models import ChangeSet, ChangeState

MOST_OFFERED = 20
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenDraft:
    """One that its author can add edits to.

    Attributes:
        words: `draft` or `planned`.
        has_times: begins later or is a loan, as all that joins it then does.
    """

    id: int
    cluster: str
    message: str
    count: int
    reason: str
    has_times: bool

    @property
    def number(self) -> str:
        """As people say it."""
        return f"CS-{self.id}"


def open_drafts(user_id: int | None, cluster: str = "") -> list[OpenDraft]:
    """A person's change sets that are not yet approved, newest first.

    Those that lead back to an earlier state are not offered: they are whole as they are.
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
    """The one that an edit joins unless the person says otherwise: the newest without times."""
    return next((one.id for one in drafts if not one.has_times), None)


def asked_before(number: int) -> dict[tuple[str, ...], Values]:
    """What an edit of a change set replaced, by key of edit, from the database's history.

    The latest that differs from what is asked now; edits that were never replaced, or that
    have left the change set, are not in it.
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
    """Names of those who wrote what a change set asks for: its author, and who joined edits.

    None of them is the second person where one must agree.
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
