"""`manage.py statement`."""

from accounting.months.commands.statement import Command

__all__ = ["Command"]
