"""`manage.py import_bill`."""

from accounting.bills.commands.import_bill import Command

__all__ = ["Command"]
