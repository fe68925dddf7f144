"""The demo's set-up file fits the simulated organization."""

from fnmatch import fnmatchcase

import pytest
import yaml

from accounting.metering.sources.catalogue import normal_model
from accounting.setup.tasks.schema import read_configuration
from portal.demo.bootstrap.setup import configuration, password_of
from portal.demo.scenario.fleet import POOLS
from portal.demo.scenario.hardware import A6000
from portal.demo.scenario.organization import DEPARTMENTS, NAMESPACES, QUOTAS, UNMAPPED
from portal.demo.scenario.story import Story
from tests.unit.portal.demo.conftest import NOW_S


@pytest.fixture(scope="module")
def text() -> str:
    story = Story.ending_at(NOW_S, seed=7, days=56, gpus=308)
    return configuration(story, 8001)


def test_it_is_a_set_up_that_configure_accepts(text: str) -> None:
    wanted = read_configuration(text)
    assert wanted.currency == "EUR"
    assert wanted.timezone == "Europe/Berlin"
    assert len(wanted.teams) == 8
    assert {source.kind for source in wanted.clusters[0].sources} == {
        "openmetrics",
        "scrape",
    }


def test_every_namespace_but_one_has_a_team(text: str) -> None:
    def teams_of(namespace: str) -> list[str]:
        return [
            rule["team"]
            for rule in yaml.safe_load(text)["bindings"]
            if fnmatchcase(namespace, rule.get("namespace", ""))
            or ("glob" in rule and NAMESPACES[namespace] == rule["glob"])
        ]

    assert all(len(teams_of(namespace)) == 1 for namespace in DEPARTMENTS)
    assert teams_of(UNMAPPED) == []
    assert set(QUOTAS) == set(NAMESPACES)


def test_every_model_but_one_has_a_price(text: str) -> None:
    priced = {price.model for price in read_configuration(text).prices or ()}
    models = {normal_model(pool.model.name) for pool in POOLS}
    assert models - priced == {normal_model(A6000.name)}


def test_passwords_follow_from_the_secret_and_differ() -> None:
    first, second = password_of("ana", "x" * 40), password_of("ana", "y" * 40)
    assert first != second
    assert first == password_of("ana", "x" * 40)
    assert first != password_of("finn", "x" * 40)
    assert len(first) == 14
