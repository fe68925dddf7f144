"""A new change set from a form: edits become a draft, and a plan is asked for."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounting.models import Cluster
from accounting.views.gate import Visitor
from scheduler_view.actions.change_sets import Draft, create, request_plan
from scheduler_view.actions.wish import LostUpdate
from scheduler_view.bell import ring
from scheduler_view.domain.edit import EditsRefused, edits_from
from scheduler_view.forms import Asked
from scheduler_view.models import ChangeSet
from scheduler_view.queries.resources import added_names


class Unfit(Exception):
    """It cannot be asked for; carries what to mend, a sentence each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


def propose(
    cluster: Cluster, asked: Asked, visitor: Visitor, actor: Any, *, plans: bool
) -> ChangeSet:
    """Begin a change set.

    Args:
        plans: ask the worker for a plan at once; a lead's request waits for an admin.

    Raises:
        Unfit: with every fault that was found; nothing is stored then.
    """
    try:
        edits = edits_from([dict(edit) for edit in asked.edits], added_names())
        draft = Draft(edits, asked.reason, (), asked.starts_at, asked.ends_at)
        with transaction.atomic():
            made = create(cluster=cluster, draft=draft, actor=actor, at=visitor.now)
            if plans:
                request_plan(made, version=made.version, actor=actor, at=visitor.now)
    except EditsRefused as error:
        raise Unfit(
            [_fault(asked, f.index, f.field, f.text) for f in error.faults]
        ) from None
    except LostUpdate as error:
        raise Unfit(
            [f"{text}. Read the page again." for text in error.differences]
        ) from None
    except ValidationError as error:
        raise Unfit(
            [
                f"{_WORDS.get(name, name)}: {text}."
                for name, texts in error.message_dict.items()
                for text in texts
            ]
        ) from None
    if plans:
        ring(cluster.pk)
    return made


_WORDS = {"reason": "Reason", "starts_at": "Begins", "ends_at": "Ends"}


def _fault(asked: Asked, index: int, field: str, text: str) -> str:
    if not asked.edits:
        return "Nothing was changed: write another number first."
    edit = asked.edits[index]
    name = edit.get("team") or edit.get("name") or ""
    place = " ".join(
        part for part in (name, edit.get("pool", ""), edit.get("tier", "")) if part
    )
    return f"{place}, {field}: {text}."
