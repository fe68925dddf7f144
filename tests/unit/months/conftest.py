"""Fixtures that these tests share with other subjects."""

from tests.unit.exports.conftest import in_tokyo as in_tokyo  # noqa: PLC0414
