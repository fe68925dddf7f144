"""What Django's own clean-up does not reach: the partitioned tables."""

from collections.abc import Iterator

import pytest

from accounting.ingest.facts import partitions


@pytest.fixture(autouse=True)
def no_facts_of_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start without facts, and without memory of partitions that were rolled back."""
    partitions.forget_known()
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction"):
        request.getfixturevalue("transactional_db")
    yield
    partitions.forget_known()
