"""`manage.py import_metrics`."""

from accounting.metering.commands.import_metrics import Command

__all__ = ["Command"]
