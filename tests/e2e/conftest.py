"""The order of these tests."""

import pytest

LONGEST = "test_first_run.py"  # as long as all others together: they run beside it


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the file that takes longest, so that both processes end together."""
    items.sort(key=lambda item: item.path.name != LONGEST)
