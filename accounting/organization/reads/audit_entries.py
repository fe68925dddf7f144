"""Changes by people: the sealed history as rows, and the head of its chain (I17)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from django.db import connection
from django.db.models import Q, QuerySet

from accounting.kit import texts
from accounting.kit.models.audit import AuditLink
from accounting.kit.reads.paging import Key, Seek
from accounting.kit.rows import column, columns_of, listed
from accounting.organization.reads.chain_checks import history_tables

CHUNK = 1_000  # links read at a time
# long values, shown on other pages
_NEVER_SHOWN = frozenset({"body", "before", "pin", "plan"})
_LEASE = "lease_until"  # how long a worker has its work: not a change by a person


@listed("Audit")
class AuditRow:
    """One change of one row by a person.

    Attributes:
        what: the kind of object, such as `quotatarget`.
        before, after: the columns that differ; all columns if it was created or deleted.
        row: all columns except long ones, after the change.
    """

    id: int = column("position in the audit chain")
    at: Annotated[datetime, texts.iso_ms] = column()
    actor: str = column("who decided it; `system` without a person")
    action: str = column("insert, update or delete")
    what: str = column()
    object_id: int | None = column(name="object")
    reason: str = column()
    request_id: str = column()
    address: str = column()
    before: Mapping[str, Any | None] = column()
    after: Mapping[str, Any | None] = column()
    by_worker: bool = column("a worker carried it out for the actor", default=False)
    requested_by: str = column("who requested it, if not the actor", default="")
    user: int | None
    row: Mapping[str, Any] = field(default_factory=dict)


AUDIT_COLUMNS = tuple(one.name for one in columns_of(AuditRow))  # of a CSV file


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of changes; empty texts and None match all.

    Attributes:
        actor: who made a change, or requested it.
    """

    what: str = ""
    actor: str = ""
    object_id: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    before: int | None = None  # only changes with a smaller id: the next page


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain: if it is stored elsewhere, truncation can be detected."""

    links: int
    hash: str


def audit_key(row: AuditRow) -> Key:
    """The position of a change in `audit_page`."""
    return (row.id,)


def audit_page(audit_filter: AuditFilter, seek: Seek) -> list[AuditRow]:
    """Some changes, newest first; a page does not change, because older changes never do."""
    if seek.after is not None:
        audit_filter = replace(audit_filter, before=int(seek.after[0]))
    return list(islice(audit_rows(audit_filter, chunk=seek.limit or CHUNK), seek.limit))


def audit_rows(audit_filter: AuditFilter, chunk: int = CHUNK) -> Iterator[AuditRow]:
    """Every change, newest first; two queries for each chunk of them.

    Renewals of a worker's lease are in the chain, and left out here.
    """
    links = _links(audit_filter)
    while True:
        chosen = list(links[:chunk].values_list("id", "at", "body"))
        before = _states_before([link[0] for link in chosen])
        for id_, at, body in chosen:
            if not _is_lease(body, before.get(id_, {})):
                yield _row(id_, at, body, before.get(id_, {}))
        if len(chosen) < chunk:
            return
        links = links.filter(id__lt=chosen[-1][0])


def _links(audit_filter: AuditFilter) -> QuerySet[AuditLink]:
    links = AuditLink.objects.order_by("-id")
    if audit_filter.what:
        links = links.filter(body__source__endswith=f"_{audit_filter.what}event")
    if audit_filter.actor:
        links = links.filter(
            Q(body__context__actor=audit_filter.actor)
            | Q(body__context__requested_by=audit_filter.actor)
        )
    if audit_filter.object_id is not None:
        links = links.filter(object_id=audit_filter.object_id)
    if audit_filter.start is not None:
        links = links.filter(at__gte=audit_filter.start)
    if audit_filter.end is not None:
        links = links.filter(at__lt=audit_filter.end)
    if audit_filter.before is not None:
        links = links.filter(id__lt=audit_filter.before)
    return links


def kinds() -> list[str]:
    """What is on record, as `what` of a filter."""
    return sorted(_kind(table) for table in history_tables())


def head() -> Head:
    """The length of the chain, and its last hash."""
    last = AuditLink.objects.order_by("-id").first()
    return Head(AuditLink.objects.count(), bytes(last.hash).hex() if last else "")


def has_head(kept: Head) -> bool:
    """True if the chain continues from a stored head, with nothing missing before it."""
    if not kept.links:
        return not kept.hash
    link = AuditLink.objects.order_by("id")[kept.links - 1 : kept.links].first()
    return link is not None and bytes(link.hash).hex() == kept.hash


def _states_before(ids: list[int]) -> dict[int, dict[str, Any]]:
    """The row that each change found, by the link of the change."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT l.id, earlier.body -> 'row'
            FROM accounting_auditlink l
            JOIN LATERAL (
                SELECT body FROM accounting_auditlink b
                WHERE b.source = l.source AND b.object_id = l.object_id AND b.id < l.id
                ORDER BY b.id DESC LIMIT 1
            ) AS earlier ON true
            WHERE l.id = ANY(%s)
            """,
            [ids],
        )
        return {id_: _decoded(row) for id_, row in cursor.fetchall()}


def _decoded(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    return found


def _is_lease(body: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    now = body["row"]
    changed = {name for name in {**before, **now} if before.get(name) != now.get(name)}
    return body["label"] == "update" and changed == {_LEASE}


def _row(
    id_: int, at: datetime, body: Mapping[str, Any], before: Mapping[str, Any]
) -> AuditRow:
    context, action = body["context"], body["label"]
    now = {} if action == "delete" else body["row"]
    names = [
        name
        for name in {**before, **now}
        if name not in {*_NEVER_SHOWN, _LEASE} and before.get(name) != now.get(name)
    ]
    return AuditRow(
        id=id_,
        at=at,
        actor=context.get("actor") or "",
        user=context.get("user"),
        action=action,
        what=_kind(body["source"]),
        object_id=body["object"],
        reason=context.get("reason") or "",
        request_id=context.get("request_id") or "",
        address=context.get("url") or "",
        before={name: before[name] for name in names if name in before},
        after={name: now[name] for name in names if name in now},
        by_worker=bool(context.get("by_worker")),
        requested_by=context.get("requested_by") or "",
        row={n: value for n, value in body["row"].items() if n not in _NEVER_SHOWN},
    )


def _kind(table: str) -> str:
    return table.rpartition("_")[2].removesuffix("event")
