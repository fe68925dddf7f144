"""What docker-compose.yml starts: the owner migrates, the services have a role of their own.

The very command of the image's entry, on a PostgreSQL of this test run; then the services'
commands with nothing but the services' address. That each statement against the record is
refused one by one: `tests/integration/organization/audit/test_role.py`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from portal.demo.kube_api.server import serving
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from portal.embedded.paths import HomePaths
from tests.control_plane.admin import Admin, quota_path
from tests.control_plane.server import ADMIN
from tests.integration.faults.forks import warm

pytestmark = pytest.mark.timeout(240)
ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "example"
PASSWORD = "only for the services' role of the tests"


@dataclass(frozen=True)
class Base:
    """One new database: how its owner and the services come to it."""

    owner: dict[str, str]
    services: dict[str, str]

    def sql(
        self, statement: str, *, who: dict[str, str] | None = None
    ) -> list[tuple[Any, ...]]:
        """Run one statement as the owner, or as somebody."""
        address = (who or self.owner)["DATABASE_URL"]
        with psycopg.connect(address, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []


@pytest.fixture
def base(embedded: HomePaths, tmp_path: Path) -> Iterator[Base]:
    owner = embedded.database_url.replace("/gpu_ledger?", "/prepared?")
    host = owner.split("?")[1]
    password = PASSWORD.replace(" ", "%20").replace("'", "%27")
    services = f"postgres://ledger_app:{password}@/prepared?{host}"
    shared = {
        **os.environ,
        "SECRET_KEY": "only for the prepared database of the tests",
        "REDIS_URL": embedded.redis_url,
        "GPU_LEDGER_HOME": str(tmp_path / "home"),
    }
    found = Base(shared | {"DATABASE_URL": owner}, shared | {"DATABASE_URL": services})
    found.owner["APP_DATABASE_URL"] = services
    with psycopg.connect(embedded.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE prepared")
        yield found
        connection.execute("DROP DATABASE prepared WITH (FORCE)")
        connection.execute("DROP ROLE IF EXISTS ledger_app")


def run(
    environment: dict[str, str], *words: object
) -> subprocess.CompletedProcess[str]:
    """A command of the portal, to its end."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )


def prepared(base: Base, **more: str) -> subprocess.CompletedProcess[str]:
    return run(base.owner | more, "-m", "portal.embedded.roles", "migrate")


def assert_prepared(base: Base) -> None:
    """It ends well, and prints no password."""
    done = prepared(base)
    assert done.returncode == 0, done.stderr
    assert "ledger_app has the permissions of the services" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr


def test_the_services_role_does_all_of_the_work_and_rewrites_nothing(
    base: Base, tmp_path: Path
) -> None:
    assert_prepared(base)
    ((kept, is_super, may_make),) = base.sql(
        "SELECT rolpassword, rolsuper, rolcreaterole FROM pg_authid"
        " WHERE rolname = 'ledger_app'"
    )
    assert kept.startswith("SCRAM-SHA-256$")
    assert (is_super, may_make) == (False, False)

    with serving(Store(), {ADMIN: User("admin", is_admin=True)}) as api:
        admin = Admin(api.url, ADMIN, "")
        admin.make_namespace("vision")
        (tmp_path / "token").write_text(ADMIN)
        access = {"server": api.url, "token_file": str(tmp_path / "token")}
        wanted = yaml.safe_load((EXAMPLE / "ledger.yaml").read_text())
        wanted["clusters"][0]["kubernetes"] = {"reader": access, "pusher": access}
        path = tmp_path / "ledger.yaml"
        path.write_text(yaml.safe_dump(wanted))
        services = warm(base.services)  # it imports the product once
        for words in (
            ("configure", path),
            ("import_metrics", "--cluster", "north", EXAMPLE / "dump.om"),
            ("verify",),
            ("change_set", "apply", EXAMPLE / "quotas.yaml"),
            ("change_set", "undo", EXAMPLE / "quotas.yaml"),
            ("verify",),
        ):
            ended = services.run(*words)
            assert ended.returncode == 0, (words, ended.stdout, ended.stderr)
            if "apply" in words:
                found = admin.get(quota_path("vision", "gpu-ledger"))
                assert found["spec"]["hard"] == {"requests.nvidia.com/gpu": "8"}
    ((windows,),) = base.sql("SELECT count(*) FROM usage_window")
    assert windows > 0
    states = base.sql("SELECT state FROM scheduler_view_changeset ORDER BY id")
    assert states == [("undone",), ("applied",)]

    for statement in (
        "UPDATE accounting_teamevent SET pgh_label = 'other'",
        "DELETE FROM accounting_teamevent",
        "TRUNCATE accounting_teamevent",
        "DELETE FROM accounting_auditlink",
        "TRUNCATE scheduler_view_changesetevent",
        "ALTER ROLE ledger_app SUPERUSER",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            base.sql(statement, who=base.services)
    assert_prepared(
        base
    )  # it runs again after each release; there are new partitions by then


def test_the_owner_of_a_new_database_is_no_superuser(base: Base) -> None:
    """As `docker-compose.yml` makes it: the file that the image of PostgreSQL runs once."""
    address = base.owner["DATABASE_URL"]
    user = address.split("//")[1].split("@")[0]
    text = (ROOT / "deploy" / "postgres" / "owner.sql").read_text()
    setup = text.replace("\\getenv password POSTGRES_PASSWORD\n", "")
    assert setup != text
    base.sql(
        setup.replace(":'password'", "'of the owner'")
        .replace("gpu_ledger", "prepared")
        .replace("ROLE postgres", f'ROLE "{user}"')
    )
    try:
        as_owner = address.replace(f"//{user}@", "//ledger@")
        for _ in range(2):  # a release, and the one after it
            done = prepared(base, DATABASE_URL=as_owner)
            assert done.returncode == 0, done.stderr
            assert "superuser" not in done.stderr
        found = base.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'ledger'")
        assert found == [(False,)]
        owners = base.sql(
            "SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'public'"
        )
        assert owners == [("ledger",)]
        made = "SELECT accounting_create_partition('usage_hour', '2031-01-01', '2031-02-01')"
        base.sql(made, who=base.services)
    finally:
        base.sql(f'REASSIGN OWNED BY ledger TO "{user}"')
        base.sql("DROP OWNED BY ledger, ledger_app")
        base.sql("DROP ROLE ledger")


def test_a_superuser_who_migrates_is_told(base: Base) -> None:
    assert "is a superuser, which migrations do not need" in prepared(base).stderr


def test_without_the_services_address_it_only_migrates(base: Base) -> None:
    del base.owner["APP_DATABASE_URL"]
    done = prepared(base)
    assert done.returncode == 0, done.stderr
    assert base.sql("SELECT 1 FROM pg_roles WHERE rolname = 'ledger_app'") == []
    assert base.sql("SELECT count(*) > 0 FROM django_migrations") == [(True,)]


def test_wrong_addresses_are_refused_in_words(base: Base) -> None:
    own, services = base.owner["DATABASE_URL"], base.owner["APP_DATABASE_URL"]
    for address, said in (
        (own, "another role"),
        (services.replace("/prepared?", "/elsewhere?"), "the database of DATABASE_URL"),
        (services.replace("ledger_app", "Robert%22%3B--"), "must contain a role"),
        ("mysql://a@b/c", "must begin with postgres://"),
    ):
        done = prepared(base, APP_DATABASE_URL=address)
        assert done.returncode != 0
        assert said in done.stderr, done.stderr
        assert PASSWORD not in done.stderr
        assert "Traceback" not in done.stderr


def test_who_may_not_make_roles_is_told(base: Base) -> None:
    base.sql("CREATE ROLE plain LOGIN")
    try:
        base.sql("ALTER DATABASE prepared OWNER TO plain")
        base.sql("ALTER SCHEMA public OWNER TO plain")
        base.sql("CREATE EXTENSION IF NOT EXISTS btree_gist")
        user = base.owner["DATABASE_URL"].split("//")[1].split("@")[0]
        address = base.owner["DATABASE_URL"].replace(f"//{user}@", "//plain@")
        done = prepared(base, DATABASE_URL=address)
        assert done.returncode == 1
        assert "the role ledger_app cannot be made by plain" in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        base.sql(f"REASSIGN OWNED BY plain TO {user}")
        base.sql("DROP OWNED BY plain")
        base.sql("DROP ROLE plain")
