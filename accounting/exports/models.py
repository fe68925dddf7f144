"""Files that are written in the background: large ones, or on request (money.md M46)."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q


class ExportState(models.TextChoices):
    """What a reader can expect of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"  # the file is complete and can be downloaded
    FAILED = "failed"  # `error` says why
    EXPIRED = "expired"  # the file was removed


@pghistory.track()
class JournalSettings(models.Model):
    """The section `journal` of the setup file; one row at most.

    `settings` are the fields of `exports.rules.journal.JournalMap`.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    settings = models.JSONField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_journal_map")
        ]

    def __str__(self) -> str:
        return f"{len(self.settings['columns'])} columns"


@pghistory.track(
    exclude=[
        *("state", "attempt", "seen_at", "started_at", "finished_at", "expires_at"),
        *("rows_total", "rows_written", "bytes_written", "file_name", "sha256"),
        *("metadata", "error", "destination"),
    ]
)
class ExportJob(models.Model):
    """One file, from the request to its expiry. Written by `exports.actions` and
    `exports.tasks.jobs`.

    Its history has the request only. A worker that runs it updates `seen_at`; another one starts it
    again when that is too long ago. `attempt` rises with each start, so that the old one stops.
    """

    what = models.CharField(max_length=10)  # focus, charges, statements, journal
    period = models.CharField(max_length=7)
    revision = models.PositiveIntegerField(null=True)  # None: the one in effect
    profile = models.CharField(max_length=16)
    team = models.CharField(max_length=63, blank=True)  # "" for all
    format = models.CharField(max_length=8)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    requested_at = models.DateTimeField()

    state = models.CharField(
        max_length=8, choices=ExportState.choices, default=ExportState.QUEUED
    )
    attempt = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    rows_total = models.PositiveBigIntegerField(default=0)
    rows_written = models.PositiveBigIntegerField(default=0)  # known of CSV only
    bytes_written = models.PositiveBigIntegerField(default=0)
    file_name = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    metadata = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    # Of a scheduled file: the folder or bucket that it is for. "" for a file to download.
    destination = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "seen_at"], name="export_job_state")]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("destination", "period", "revision", "what", "profile", "format")
                ],
                condition=~Q(destination=""),
                name="export_job_one_for_each_destination",
            )
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.period}, {self.state}"
