"""What Django's own clean-up does not reach: the partitioned tables."""

import pytest


@pytest.fixture(autouse=True)
def no_facts_of_others(request: pytest.FixtureRequest) -> None:
    """Start without facts."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction"):
        request.getfixturevalue("transactional_db")
