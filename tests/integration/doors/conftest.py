"""What Django's own clean-up does not reach, and one set-up for all doors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connection

from accounting.actions import partitions
from accounting.models import Cluster
from tests.builders import SETUP
from tests.integration.accounting.support import run

Configure = Callable[..., Cluster]


@pytest.fixture(autouse=True)
def no_facts_of_others(request: pytest.FixtureRequest) -> None:
    """Start without facts, and without memory of partitions that were rolled back."""
    partitions.forget_known()
    if request.node.get_closest_marker("django_db") is not None:
        request.getfixturevalue("transactional_db")
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE usage_window, usage_hour, usage_day")


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Sets up cluster `north` with the given sources, the way a person does."""

    def _configure(*sources: dict[str, Any]) -> Cluster:
        document = yaml.safe_load(SETUP)
        document["clusters"] = [{"name": "north", "sources": list(sources)}]
        path = tmp_path / "setup.yaml"
        path.write_text(yaml.safe_dump(document))
        run("configure", path)
        return Cluster.objects.get(name="north")

    return _configure
