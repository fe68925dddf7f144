"""Edits of a form: they become a draft or join an open one, and a plan is requested."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounting.access.models.teams import Team
from accounting.kit.pages.permissions import Visitor
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names
from scheduler_view.changes.actions.change_sets import (
    ChangeRefused,
    create,
    request_plan,
    wake_for_cluster,
)
from scheduler_view.changes.actions.joining import join
from scheduler_view.changes.forms import Values
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Draft, Edit, EditsRefused, edit_fields
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.clusters.rules.wording import units


class Unfit(Exception):
    """The form is not valid; with a sentence for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


def checked_edits(values: Sequence[Values]) -> list[Edit]:
    """The edits of a form.

    Args:
        values: of each edit, as in the API.

    Raises:
        Unfit: with every fault that can be found without a database.
    """
    try:
        return edits_from([dict(one) for one in values], added_names())
    except EditsRefused as error:
        raise _unfit(values, error) from None


def propose(
    cluster: Cluster,
    draft: Draft,
    visitor: Visitor,
    actor: Any,
    *,
    into: int | None = None,
    plans: bool = True,
) -> ChangeSet:
    """Create a change set, or add to an open one of the same person and cluster.

    Args:
        cluster: of the quotas and tiers.
        draft: the edits, checked.
        visitor: for the time.
        actor: the author.
        into: number of the change set that the edits join; None for a new one.
        plans: request a plan at once; a lead's request waits for an administrator.

    Raises:
        Unfit: with every fault that was found; nothing is stored then.
    """
    try:
        with transaction.atomic():
            if into is None:
                made = create(cluster=cluster, draft=draft, actor=actor, at=visitor.now)
            else:
                made = _joined(into, cluster, draft, visitor, actor)
            if plans:
                request_plan(made, version=made.version, actor=actor, at=visitor.now)
    except EditsRefused as error:
        raise _unfit([edit_fields(one) for one in draft.edits], error) from None
    except ChangeRefused as error:
        text = str(error)
        raise Unfit([f"{text[:1].upper()}{text[1:]}."]) from None
    except LostUpdate as error:
        raise Unfit(
            [f"{text}. Reload the page." for text in error.differences]
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
        wake_for_cluster(cluster.pk)
    return made


def _joined(
    number: int, cluster: Cluster, draft: Draft, visitor: Visitor, actor: Any
) -> ChangeSet:
    """The open change set with the edits added; its current version is used.

    On a page only its author can add edits, so that it does not change during another person's
    review.
    """
    change_set = (
        ChangeSet.objects.filter(pk=number, cluster=cluster, author=actor)
        .select_related("cluster")
        .first()
    )
    if change_set is None:
        raise ChangeRefused(f"CS-{number} is not one of your open changes on {cluster}")
    if draft.starts_at is not None or draft.ends_at is not None:
        raise ChangeRefused(
            f"{change_set} has its own times: create a new change set to use other times"
        )
    join(
        change_set,
        edits=draft.edits,
        version=change_set.version,
        actor=actor,
        at=visitor.now,
        reason=draft.reason,
    )
    return change_set


_WORDS = {"reason": "Reason", "starts_at": "Begins", "ends_at": "Ends"}


def _unfit(values: Sequence[Values], error: EditsRefused) -> Unfit:
    return Unfit([_fault(values, f.index, f.field, f.text) for f in error.faults])


def _fault(values: Sequence[Values], index: int, field: str, text: str) -> str:
    """The fault of one edit: `Vision, GPUs: the number is missing; ...`."""
    if not values:
        return "No changes. Edit a quota first."
    edit = values[index]
    if edit.get("kind") == "tier":
        parts = [f"Tier {edit.get('name', '')}"]
    elif edit.get("kind") == "queue":
        parts = [f"{edit.get('object', '')} {edit.get('name', '')}"]
        parts.append(str(edit.get("field", "")))
    else:
        slug, resource = str(edit.get("team") or ""), str(edit.get("resource") or "")
        team = Team.objects.filter(slug=slug).first()
        parts = [
            team.name if team else slug or "New quota",
            units(resource) if resource else "",
        ]
        parts.append(f"tier {edit['tier']}" if edit.get("tier") else "")
    place = ", ".join(part for part in parts if part)
    known = ("gpus", "edits", "value", "name")  # the sentence says what it is about
    return f"{place}: {text}." if field in known else f"{place}, {field}: {text}."
