"""`manage.py export`."""

from accounting.exports.commands.export import Command

__all__ = ["Command"]
