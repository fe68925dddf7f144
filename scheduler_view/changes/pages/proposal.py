"""Edits of a form: they become a draft or join an open one, and a plan is requested."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounting.access.models.teams import Team
from accounting.kit.pages.permissions import Visitor
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.change_sets import (
    ChangeRefused,
    Draft,
    create,
    request_plan,
)
from scheduler_view.changes.actions.joining import join
from scheduler_view.changes.forms import Asked
from scheduler_view.changes.models import ChangeSet
from scheduler_view.changes.rules.edit import Edit, EditsRefused, QuotaEdit
from scheduler_view.changes.rules.given_edit import edits_from
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.clusters.reads.resources import added_names
from scheduler_view.clusters.rules.wording import units
from scheduler_view.clusters.tasks.wakeup import wake_for_cluster


class Unfit(Exception):
    """The form is not valid; with a sentence for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


def propose(
    cluster: Cluster, asked: Asked, visitor: Visitor, actor: Any, *, plans: bool
) -> ChangeSet:
    """Create a change set, or add to an open one of the same person and cluster.

    Args:
        cluster: of the quotas and tiers.
        asked: the edits, and the change set that they join.
        visitor: for scope and time.
        actor: the author.
        plans: request a plan at once; a lead's request waits for an administrator.

    Raises:
        Unfit: with every fault that was found; nothing is stored then.
    """
    try:
        edits = edits_from([dict(edit) for edit in asked.edits], added_names())
        if asked.split is not None:
            edits = [_divided(edit, asked.split) for edit in edits]
        with transaction.atomic():
            if asked.into is None:
                times = asked.starts_at, asked.ends_at
                draft = Draft(edits, asked.reason, asked.forced, *times)
                made = create(cluster=cluster, draft=draft, actor=actor, at=visitor.now)
            else:
                made = _joined(asked.into, cluster, asked, edits, visitor, actor)
            if plans:
                request_plan(made, version=made.version, actor=actor, at=visitor.now)
    except EditsRefused as error:
        raise Unfit(
            [_fault(asked, f.index, f.field, f.text) for f in error.faults]
        ) from None
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


def _divided(edit: Edit, split: Mapping[str, int]) -> Edit:
    return replace(edit, split=split) if isinstance(edit, QuotaEdit) else edit


def _joined(
    number: int,
    cluster: Cluster,
    asked: Asked,
    edits: Sequence[Edit],
    visitor: Visitor,
    actor: Any,
) -> ChangeSet:
    """The open change set with the edits added; its current version is used.

    On a page only its author can add edits, so that it does not change during another person's
    review.
    """
    found = (
        ChangeSet.objects.filter(pk=number, cluster=cluster, author=actor)
        .select_related("cluster")
        .first()
    )
    if found is None:
        raise ChangeRefused(f"CS-{number} is not one of your open changes on {cluster}")
    if asked.starts_at is not None or asked.ends_at is not None:
        raise ChangeRefused(
            f"{found} has its own times: create a new change set to use other times"
        )
    join(
        found,
        edits=edits,
        version=found.version,
        actor=actor,
        at=visitor.now,
        reason=asked.reason,
    )
    return found


_WORDS = {"reason": "Reason", "starts_at": "Begins", "ends_at": "Ends"}


def _fault(asked: Asked, index: int, field: str, text: str) -> str:
    """The fault of one edit: `Vision, GPUs: the number is missing; ...`."""
    if not asked.edits:
        return "No changes. Edit a quota first."
    edit = asked.edits[index]
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
