"""What waits for a person, and what became of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounting.access.rights import INBOX
from accounting.kit.pages.paging import page_of, paged, size_of
from accounting.kit.pages.permissions import asker_of, page, visitor_of
from scheduler_view.inbox.reads import KEPT, KINDS, done_rows, inbox_rows

LABELS = {kind.name: kind.label for kind in KINDS}
LABELS |= {"override": "Close of a month", "reopen": "Reopening"}


@page(INBOX)
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits for the visitor, then what was done in the last 90 days."""
    visitor, query = visitor_of(request), request.GET.dict()
    done = done_rows(visitor.scope, visitor.now)
    context = {
        "page": paged(inbox_rows(asker_of(request)), query),
        "done": page_of(done, query.get("done", ""), size_of(query)),
        "days": KEPT.days,
        "labels": LABELS,
    }
    return render(request, "inbox/inbox.html", context)
