"""`manage.py ingest`."""

from accounting.metering.commands.ingest import Command

__all__ = ["Command"]
