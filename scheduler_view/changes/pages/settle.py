"""Resolves a difference of a quota or a queue: restores it, or adopts the cluster's values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from accounting.access.rights import ADMINISTRATION
from accounting.kit.pages.permissions import posted, visitor_of
from accounting.metering.models.cluster import Cluster
from scheduler_view.changes.actions.change_sets import LONGEST_REASON
from scheduler_view.changes.pages.proposal import Unfit, checked_edits, propose
from scheduler_view.changes.rules.edit import Draft, Edit, QuotaEdit
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS
from scheduler_view.quotas.models import QuotaTarget
from scheduler_view.quotas.reads.queue_values import adopting_edits, managed_edits
from scheduler_view.quotas.reads.quotas import live_split
from scheduler_view.quotas.reads.sync import sync_rows, worst
from scheduler_view.quotas.rules.quota_objects import quota_key_of
from scheduler_view.quotas.rules.split import SplitRule


@posted(ADMINISTRATION, belongs_to="quotas")
def resolve(request: HttpRequest) -> HttpResponse:
    """A change set that resolves a difference; reviewed and applied like any other."""
    posted = request.POST
    cluster = get_object_or_404(Cluster, name=posted.get("cluster", ""))
    target = get_object_or_404(
        QuotaTarget.objects.select_related("team"),
        cluster=cluster,
        team__slug=posted.get("team", ""),
        resource=posted.get("resource", ""),
        tier=posted.get("tier", ""),
    )
    asked = {"restore": _restored, "adopt": _adopted}.get(posted.get("verb", ""))
    if asked is None:
        raise Http404("no such verb")
    keys = [quota_key_of(place, target.tier) for place in target.split]
    row = worst(sync_rows(cluster.name), keys)
    who = f" by {row.who}" if row and row.who else ""
    reason = f"{_SAID[posted['verb']]} what was changed in the cluster{who}"[
        :LONGEST_REASON
    ]
    # Also after the team got another namespace, only those with a quota keep one.
    split = target.split if posted["verb"] == "restore" else _there(target)
    return _proposed(request, cluster, [asked(target)], reason, split)


@posted(ADMINISTRATION, belongs_to="quotas")
def resolve_queue(request: HttpRequest) -> HttpResponse:
    """The same for the fields of a queue that GPU Ledger manages."""
    posted = request.POST
    cluster = get_object_or_404(Cluster, name=posted.get("cluster", ""))
    kind, name = posted.get("kind", ""), posted.get("queue", "")
    found = {"restore": managed_edits, "adopt": adopting_edits}.get(
        posted.get("verb", "")
    )
    if found is None or kind not in QUEUE_FIELDS:
        raise Http404("no such verb")
    row = sync_rows(cluster.name).get(ObjectKey(kind, "", name))
    who = f" by {row.who}" if row and row.who else ""
    reason = f"{_SAID[posted['verb']]} what was changed in the cluster{who}"[
        :LONGEST_REASON
    ]
    return _proposed(request, cluster, found(cluster, kind, name), reason)


def _proposed(
    request: HttpRequest,
    cluster: Cluster,
    values: Sequence[dict[str, Any]],
    reason: str,
    split: Mapping[str, int] | None = None,
) -> HttpResponse:
    """The page of a new change set; or the page of quotas, with the faults.

    `split` is the division of a quota that keeps its own.
    """
    try:
        edits = checked_edits(values)
        if split is not None:
            edits = [_divided(edit, split) for edit in edits]
        draft = Draft(edits, reason)
        made = propose(cluster, draft, visitor_of(request), request.user)
    except Unfit as error:
        for fault in error.faults:
            messages.error(request, fault)
        return redirect("quotas")
    return redirect("change", number=made.pk)


def _divided(edit: Edit, split: Mapping[str, int]) -> Edit:
    return replace(edit, split=split) if isinstance(edit, QuotaEdit) else edit


_SAID = {"restore": "Restore", "adopt": "Keep"}


def _restored(target: QuotaTarget) -> dict[str, Any]:
    """The desired quota: the plan finds the differences."""
    return {
        "kind": "quota",
        "team": target.team.slug,
        "resource": target.resource,
        "tier": target.tier,
        "gpus": target.gpus,
        "rule": target.rule,
        "weights": target.weights,
        "version": target.version,
    }


def _adopted(target: QuotaTarget) -> dict[str, Any]:
    """The quota as in the cluster; a later number keeps which namespaces have one."""
    there = _there(target)
    edit = _restored(target) | {"gpus": sum(there.values())}
    if len(there) > 1:
        edit |= {"rule": SplitRule.LISTED.value, "weights": there}
    return edit


def _there(target: QuotaTarget) -> dict[str, int]:
    """What the cluster has by namespace; for a namespace without a number, as desired."""
    live = live_split(target).items()
    return dict(target.split) | {place: n for place, n in live if n is not None}
