"""What waits for a person as a list."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounting.access.rights import INBOX
from accounting.access.scope import scope_of
from accounting.kit.api.rows import RowsView
from accounting.kit.api.schema import lists
from accounting.kit.inbox import Asker, InboxRow
from accounting.kit.serializers.declared import serializer_of
from scheduler_view.inbox.reads import inbox_rows


class InboxView(RowsView):
    """What waits for the person of the token."""

    subject = "inbox"
    right = INBOX
    parameters = ("team",)

    @lists(serializer_of(InboxRow), parameters)
    def get(self, request: Request) -> Response:
        """List what waits for you and what you can do: what lapses first, then the oldest."""
        scope, user = scope_of(request.user), request.user
        asker = Asker(scope, user.pk or 0, user.get_username(), timezone.now())
        teams = self.selection(request).filters.get("team", ())
        rows = inbox_rows(asker, teams=teams)
        return self.listed(request, rows, serializer_of(InboxRow))
