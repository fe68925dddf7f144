"""How sizes that were used are read: facts that were just written have no statistics (S33).

What is found: `test_overlapping_waste.py`.
"""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler_view.savings.reads.used_sizes import used_sizes
from tests.integration.savings.fleet import HOUR, START, make_fleet

pytestmark = pytest.mark.django_db


def test_facts_are_joined_once_without_statistics() -> None:
    # The planner expects one row of each table. A join that compares row by row would be
    # quadratic: 600,000 windows took more than five minutes.
    fleet = make_fleet(START + 24 * HOUR)
    fleet.hold("train", "b" * 12)
    end = START + timedelta(days=1)
    with CaptureQueriesContext(connection) as captured:
        assert len(list(used_sizes(fleet.cluster, START, end))) == 1
    said = [one["sql"] for one in captured.captured_queries]
    [query] = [one for one in said if "percentile_disc" in one]
    with connection.cursor() as cursor:
        for one in said[: said.index(query)]:
            if one.startswith("SET LOCAL"):
                cursor.execute(one)
        cursor.execute(f"EXPLAIN {query}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Hash" in plan
    for slow in ("Nested Loop", "Merge", "SubPlan"):
        assert slow not in plan, plan
