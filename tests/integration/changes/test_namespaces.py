"""Which namespaces are a team's: the first rule that matches gives each to one team."""

import pytest
from django.utils import timezone

from accounting.access.models.teams import Binding, Team
from scheduler_view.quotas.reads.namespaces import namespaces_by_team
from tests.integration.changes.office import EPOCH

pytestmark = pytest.mark.django_db


def test_the_first_rule_wins_whether_a_name_a_glob_or_a_label() -> None:
    a, b, c = (Team.objects.create(slug=slug, name=slug) for slug in "abc")
    rules = [
        ("namespace", "", "one", a),
        ("namespace", "", "o*", b),
        ("namespace", "", "other", c),
        ("namespace", "", "two", c),
        ("namespace_label", "example.com/team", "a", a),
        ("namespace_label", "example.com/costCenter", "b", b),
        ("namespace", "", "three", b),
        ("pod_label", "team", "*", c),
    ]
    for position, (kind, label, glob, team) in enumerate(rules):
        Binding.objects.create(
            kind=kind,
            label=label,
            glob=glob,
            team=team,
            position=position,
            valid_from=EPOCH,
        )
    live = {
        "one": {},
        "other": {},
        "two": {"example.com/team": "a"},
        "three": {"label_example_com_team": "a"},
        "four": {"label_example_com_cost_center": "b"},
        "nobody": {},
    }
    found = namespaces_by_team(live, timezone.now())
    assert found == {a.pk: ["one", "three"], b.pk: ["four", "other"], c.pk: ["two"]}
