"""The hash chain over all changes by people."""

import pgtrigger
from django.db import models


class AuditLink(models.Model):
    """One row of history, sealed: its hash covers its body and the previous hash.

    Written by a deferred trigger of each history table, in the transaction of the change and
    in the order of commits; never updated or deleted (I17). `body` contains the table
    (`source`), the object's id, the kind of change, the time, the context (actor, reason,
    request id) and the row after the change.
    """

    at = models.DateTimeField()
    source = models.CharField(max_length=63)  # the history table
    event_id = models.BigIntegerField()
    object_id = models.BigIntegerField(null=True)
    body = models.JSONField()
    hash = models.BinaryField()  # SHA-256

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["source", "event_id"], name="audit_unique")
        ]
        indexes = [
            models.Index(fields=["source", "object_id", "id"], name="audit_by_object"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]
