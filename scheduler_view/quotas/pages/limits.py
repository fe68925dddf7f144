"""Everything that limits GPUs, also what others set, and the action that takes it over."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounting.access.rights import ADMINISTRATION
from accounting.access.scope import Scope
from accounting.kit.pages.downloads import csv_answer
from accounting.kit.pages.paging import ListPage, page_of, size_of
from accounting.kit.pages.permissions import posted, signed_in, visitor_of
from accounting.kit.serializers.declared import serializer_of
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.clusters import clusters_named
from scheduler_view.changes.actions.change_sets import LONGEST_REASON
from scheduler_view.changes.pages.proposal import Unfit, checked_edits, propose
from scheduler_view.changes.reads.adopting import adopted_by, adoption
from scheduler_view.changes.reads.change_row import UNDER_WAY, ChangeRow
from scheduler_view.changes.reads.change_sets import change_rows
from scheduler_view.changes.rules.edit import Draft
from scheduler_view.clusters.rules.wording import few
from scheduler_view.quotas.reads.limits.limit_row import LimitGroup, LimitRow
from scheduler_view.quotas.reads.limits.observed import observed_limits
from scheduler_view.quotas.reads.limits.rows import (
    limit_rows,
    not_read,
    observed_clusters,
    rows_of,
)

_NOUNS = {
    "ResourceQuota": ("quota", "quotas"),
    "LimitRange": ("LimitRange", "LimitRanges"),
    "PriorityClass": ("priority class", "priority classes"),
    "WorkloadPriorityClass": ("WorkloadPriorityClass", "WorkloadPriorityClasses"),
}


@dataclass(frozen=True, slots=True)
class Makers:
    """The sentence of the page: how many objects limit GPUs, and who set them.

    Attributes:
        count: objects; `ours` of them are set by GPU Ledger.
        kinds: `3 quotas, 2 priority classes`.
        others: `4 by kubectl, 1 by an unknown client`; empty if GPU Ledger set all.
    """

    count: int
    ours: int
    kinds: str
    others: str


@signed_in
def limits(request: HttpRequest) -> HttpResponse:
    """Quotas and LimitRanges, priority classes, and the tree of queues."""
    visitor = visitor_of(request)
    chosen = request.GET.get("cluster", "")
    sought = request.GET.get("q", "").strip().lower()
    found = limit_rows(visitor.scope, visitor.now, cluster=chosen)
    if "csv" in request.GET:
        columns = tuple(serializer_of(LimitRow)().fields)
        lines = [
            [row[name] for name in columns]
            for row in serializer_of(LimitRow).each(found)
        ]
        return csv_answer("limits", columns, lines)
    rows = [row for row in found if sought in _words(row)]
    sees_any = visitor.scope.sees_any
    clusters = [one.name for one in clusters_named()] if sees_any else []
    seen = observed_clusters()
    shown = [name for name in clusters if not chosen or name == chosen]
    context = {
        "clusters": clusters,
        "chosen": chosen,
        "several": len(shown) > 1,
        "sought": sought,
        "count": len(found),
        "makers": _makers(found),
        "not_observed": [name for name in shown if name not in seen],
        "not_read": not_read(chosen) if visitor.scope.sees_all else [],
        "spaces": _page(rows, LimitGroup.NAMESPACES, request),
        "classes": _page(rows, LimitGroup.CLASSES, request),
        "queues": _page(rows, LimitGroup.QUEUES, request),
        "is_admin": visitor.scope.is_admin,
        "pending": (pending := _pending(visitor.scope)),
        "adoptable": _adoptable(found, pending) if visitor.scope.is_admin else {},
    }
    return render(request, "quotas/limits.html", context)


@posted(ADMINISTRATION, belongs_to="limits")
@transaction.atomic
def adopt(request: HttpRequest) -> HttpResponse:
    """A change set that takes over one object, or all of a cluster; reviewed like any other.

    Of two requests at once, the second one finds the change set of the first.
    """
    visitor, asked = visitor_of(request), request.POST
    # held until the end; a new change set of the cluster does not wait for it
    held = Cluster.objects.select_for_update(no_key=True)
    cluster = get_object_or_404(held, name=asked.get("cluster", ""))
    seen = observed_limits(cluster, visitor.scope, visitor.now)
    place = tuple(asked.get(name, "") for name in ("kind", "namespace", "name"))
    is_all = asked.get("all") == "yes"
    chosen = [
        row
        for row in rows_of(seen)
        if is_all or (row.kind, row.namespace, row.name) == place
    ]
    if not chosen and not is_all:
        raise Http404("no such limit")
    pending = _pending(visitor.scope)
    rows = [row for row in chosen if row.edit_key not in pending]
    if chosen and not rows:
        change = pending[chosen[0].edit_key]
        messages.info(request, f"{change.number} already adopts this.")
        return redirect("change", number=change.id)
    found = adoption(seen, rows)
    if not found.edits:
        why = next((row.why_not for row in rows if row.why_not), "")
        messages.error(request, f"There is nothing to adopt. {why}".strip())
        return redirect(_address(cluster))
    makers = f" by {few(found.makers)}" if found.makers else ""
    what = "the limits" if is_all else place[2]
    reason = f"Adopt {what} as set in the cluster{makers}"[:LONGEST_REASON]
    try:
        draft = Draft(checked_edits(found.edits), reason, found.forced)
        made = propose(cluster, draft, visitor, request.user)
    except Unfit as error:
        for fault in error.faults:
            messages.error(request, fault)
        return redirect(_address(cluster))
    return redirect("change", number=made.pk)


def _address(cluster: Cluster) -> str:
    return f"{reverse('limits')}?cluster={cluster.name}"


def _page(
    rows: Iterable[LimitRow], group: LimitGroup, request: HttpRequest
) -> ListPage:
    """One table of the page; each has its own number in the address."""
    own = [row for row in rows if row.group == group]
    return page_of(own, request.GET.get(group.value, ""), size_of(request.GET))


def _words(row: LimitRow) -> str:
    words = (row.place, row.team, row.team_name, row.resource, row.part, row.set_by)
    return " ".join((*words, row.kind, row.parent)).lower()


def _makers(rows: Sequence[LimitRow]) -> Makers:
    """Of objects, not of their numbers: a quota of two resources is one.

    A cohort or queue without a number limits nothing.
    """
    objects = {
        (row.cluster, row.kind, row.namespace, row.name): row
        for row in rows
        if row.limit
    }
    kinds = Counter(_noun_of(row) for row in objects.values())
    ours = [row for row in objects.values() if row.is_managed]
    makers = Counter(
        f"by {row.set_by}" if row.set_by else "by an unknown client"
        for row in objects.values()
        if not row.is_managed
    )
    return Makers(
        len(objects),
        len(ours),
        ", ".join(
            f"{number:,} {one if number == 1 else many}"
            for (one, many), number in kinds.items()
        ),
        few([f"{number:,} {name}" for name, number in makers.most_common()]),
    )


def _noun_of(row: LimitRow) -> tuple[str, str]:
    return _NOUNS.get(row.kind, ("queue", "queues"))


def _pending(scope: Scope) -> dict[str, ChangeRow]:
    """The change set in progress that takes over a limit, by the key of the limit."""
    return {
        key: change
        for change in change_rows(scope, any_state=UNDER_WAY)
        for key in adopted_by(change)
    }


def _adoptable(
    rows: Iterable[LimitRow], pending: Mapping[str, ChangeRow]
) -> dict[str, int]:
    """By cluster: objects that GPU Ledger can take over, and no open change set does."""
    found = {
        (row.cluster, row.kind, row.namespace, row.name)
        for row in rows
        if row.adopts and row.edit_key not in pending
    }
    return dict(sorted(Counter(cluster for cluster, *_ in found).items()))
