"""Fixtures that these tests share with other subjects."""

from tests.integration.quotas.conftest import desk as desk  # noqa: PLC0414
from tests.integration.quotas.conftest import desks as desks  # noqa: PLC0414
