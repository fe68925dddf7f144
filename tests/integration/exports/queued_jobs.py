"""Requests of files in tests."""

from datetime import UTC, datetime

from accounting.exports.actions import request_export
from accounting.exports.models import ExportJob
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.request import ExportRequest

FOCUS = ExportRequest(What.FOCUS, "2026-10")
NOW = datetime(2026, 11, 6, tzinfo=UTC)


def queued(request: ExportRequest = FOCUS) -> ExportJob:
    """A job of a command, not of a person."""
    return request_export(request, actor="finance", now=NOW)
