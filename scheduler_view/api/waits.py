"""Read-only lists: work that waits, queues, preemptions."""

from functools import partial

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access import scope_of
from accounting.api.rows import RowsView
from accounting.api.schema import lists
from accounting.rights import WHOLE_FLEET
from accounting.serializers.declared import serializer_of
from accounting.serializers.queues import QueueRowSerializer
from scheduler_view.queries.queue_values import QueueValueRow, value_rows
from scheduler_view.queries.quotas import among
from scheduler_view.queries.waits.node_notes import NodeNoteRow, node_note_rows
from scheduler_view.queries.waits.preempted import (
    PreemptedRow,
    preempted_key,
    preempted_of,
)
from scheduler_view.queries.waits.scheduler_queues import all_queue_rows
from scheduler_view.queries.waits.waiting_units import waiting_rows
from scheduler_view.serializers.waits import (
    WaitingUnitRowSerializer,
)


class QueuesView(RowsView):
    """Queues of batch schedulers."""

    subject = "queues"
    right = WHOLE_FLEET
    parameters = ("cluster",)

    @lists(QueueRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List queues. Teams share queues, so only finance and administrators can see them."""
        rows = among(all_queue_rows(), self.selection(request).filters)
        return self.listed(request, rows, QueueRowSerializer)


class QueueValuesView(RowsView):
    """Values of queues."""

    subject = "queue-values"
    right = WHOLE_FLEET
    parameters = ("cluster",)

    @lists(serializer_of(QueueValueRow), parameters)
    def get(self, request: Request) -> Response:
        """List fields of queues that change sets can change, as last observed."""
        rows = among(value_rows(), self.selection(request).filters)
        return self.listed(request, rows, serializer_of(QueueValueRow))


class WaitingView(RowsView):
    """Work that waits."""

    subject = "waiting"
    parameters = ("cluster", "team")

    @lists(WaitingUnitRowSerializer, parameters)
    def get(self, request: Request) -> Response:
        """List work that waits, why, who holds what it needs and what would let it start."""
        found = waiting_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, WaitingUnitRowSerializer)


class NodeNotesView(RowsView):
    """Nodes that are not in order."""

    subject = "node-notes"
    parameters = ("cluster",)

    @lists(serializer_of(NodeNoteRow), parameters)
    def get(self, request: Request) -> Response:
        """List nodes with GPUs that report none, are not set up, or cannot be drained."""
        found = node_note_rows(scope_of(request.user), timezone.now())
        rows = among(found, self.selection(request).filters)
        return self.listed(request, rows, serializer_of(NodeNoteRow))


class PreemptionsView(RowsView):
    """Preemptions."""

    subject = "preemptions"
    parameters = ("cluster", "team")

    @lists(serializer_of(PreemptedRow), parameters)
    def get(self, request: Request) -> Response:
        """List pods that the scheduler preempted in the last 30 days, newest first."""
        filters = self.selection(request).filters
        read = partial(
            preempted_of,
            scope_of(request.user),
            timezone.now(),
            clusters=filters.get("cluster"),
            teams=filters.get("team"),
        )
        return self.keyset_page(
            request, read, preempted_key, serializer_of(PreemptedRow)
        )
