"""What all tests share: services for this run, tiers by place, no network in units."""

import gc
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.conf import settings
from django.test import Client, TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as drawn
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware

import portal.celery  # noqa: F401  # as in portal.wsgi: else tasks go to Celery's default broker
from portal.embedded import lease
from portal.embedded.paths import HomePaths
from portal.env import database_settings
from tests import bytecode, migrated, services, sessions
from tests.control_plane.admin import Admin
from tests.control_plane.at_rest import AtRest, modules_of_clusters
from tests.control_plane.server import ADMIN, ControlPlane, control_plane
from tests.database_flush import empty, like_new
from tests.programs import obstacle

TESTS = Path(__file__).resolve().parent
TIERS = {name: name for name in ("check", "unit", "integration", "browser", "e2e")}
TIERS |= {"acceptance": "integration", "oracle": "integration", "traps": "integration"}
TIERS |= {"soak": "e2e"}
FLEETS = "test_fleets.py::test_a_fleet"
# They start programs and wait for them, or one of them takes long: they begin while others have
# work for the processors.
WAITING = (
    "acceptance/test_pending_live.py",
    "integration/commands/test_import.py",
    "integration/faults/",
    "integration/portal/",
    "integration/clusters/client/",
    "oracle/test_stateful.py",
)
UNIT_SECONDS = 2  # a slower unit test is another kind of test
DRAWN_SECONDS = 60  # hundreds of examples; cut short in one, Hypothesis calls it flaky


# Other work on the machine makes examples slow, not wrong.
drawn.register_profile(
    "any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
drawn.load_profile("any-machine")


def pytest_configure(config: pytest.Config) -> None:
    """Draw the number of the first random fleet, for all processes of this run."""
    os.environ.setdefault("ORACLE_SEED", str(time.time_ns() % 10**6))
    shared = ExitStack()
    shared.enter_context(bytecode.kept())
    config.add_cleanup(shared.close)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Processes of one run share the work of compiling."""
    bytecode.compile_share(session.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the numbers of the random fleets that were compared with the oracle."""
    ran = [
        report.nodeid.rpartition("[")[2].rstrip("]")
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        if f"{FLEETS}[" in report.nodeid
    ]
    if ran:
        seeds = " ".join(sorted(ran, key=int))
        terminalreporter.write_line(f"random fleets compared (ORACLE_SEED): {seeds}")


def pytest_collectstart() -> None:
    """Collect no garbage until all tests are found: what is made meanwhile stays.

    The process that only gives tests to others finds none, and goes on as it is.
    """
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the tier of its folder; put those that wait first; limit unit tests.

    Then those that share a control plane: so most of them come to the same process.
    """
    clusters = modules_of_clusters(items)

    def turn(item: pytest.Item) -> tuple[bool, bool]:
        place = item.path.relative_to(TESTS).as_posix()
        return not place.startswith(WAITING), item.path not in clusters

    items.sort(key=turn)
    for item in items:
        tier = TIERS.get(item.path.relative_to(TESTS).parts[0])
        if tier:
            item.add_marker(tier)
        if tier == "unit" and item.get_closest_marker("timeout") is None:
            is_drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
            seconds = DRAWN_SECONDS if is_drawn else UNIT_SECONDS
            # of the test alone: the last one of a run also ends what all have shared
            item.add_marker(pytest.mark.timeout(seconds, func_only=True))


def pytest_collection_finish() -> None:
    """Let the collector of garbage leave alone what stays: modules, and thousands of tests."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip by name what this machine cannot run; in CI that is a failure."""
    why = obstacle({mark.name for mark in item.iter_markers()})
    if why and os.environ.get("CI") == "true":
        pytest.fail(f"CI must run every tier. {why}", pytrace=False)
    if why:
        pytest.skip(why)


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit test that opens a connection fails at once and says so."""
    if request.node.get_closest_marker("unit") is None:
        return

    def refuse(*_arguments: object, **_named: object) -> NoReturn:
        raise AssertionError("a unit test has no network: move it to integration")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


@pytest.fixture(autouse=True, scope="session")
def quick_flush() -> Iterator[None]:
    """Empty the database in milliseconds after each test that commits."""

    def flush(_case: TransactionTestCase) -> None:
        empty()
        like_new()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", flush)
        patch.setattr(
            TransactionTestCase, "_should_reload_connections", lambda _case: False
        )
        yield


@pytest.fixture(autouse=True, scope="session")
def static_files_once() -> Iterator[None]:
    """Look for static files once, not for each of thousands of clients: 15 ms each."""
    found: dict[str, Any] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def add(files: WhiteNoiseMiddleware) -> None:
        if not found:
            look(files)
            found.update(files.files)
        files.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add)
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_sign_in() -> Iterator[None]:
    """Give a client of Django its session by one statement, thousands of times: login takes six.

    Tests of the form sign in by the form.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_login", sessions.give)
        yield


@pytest.fixture(scope="session")
def embedded() -> Iterator[HomePaths]:
    """Embedded services for this run only; gone when it ends, however it ends."""
    home = Path(tempfile.mkdtemp(prefix="gpu-ledger-tests-"))
    yield services.started(home)
    lease.release(home)


@pytest.fixture(scope="session")
def folder_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes of this run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
    request: pytest.FixtureRequest,
) -> None:
    """Use the embedded PostgreSQL unless `DATABASE_URL` names another."""
    del django_db_modify_db_settings_parallel_suffix
    if os.environ.get("DATABASE_URL"):
        return
    places: HomePaths = request.getfixturevalue("embedded")
    database = settings.DATABASES["default"]
    ours = database_settings(places.database_url)
    database.update({name: ours[name] for name in ("HOST", "PORT", "USER", "PASSWORD")})


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """An empty database with all tables; see `tests/migrated.py`."""
    del django_test_environment, django_db_modify_db_settings
    with django_db_blocker.unblock():
        made = migrated.database()
        made.__enter__()
    yield
    with django_db_blocker.unblock():
        made.__exit__(None, None, None)


@pytest.fixture(scope="session")
def redis_url(request: pytest.FixtureRequest) -> str:
    """A real Redis: `REDIS_URL`, else the embedded one."""
    given = os.environ.get("REDIS_URL")
    if given:
        return given
    places: HomePaths = request.getfixturevalue("embedded")
    return places.redis_url


@pytest.fixture(scope="session")
def whole_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A real control plane for this run (mark: `control_plane`).

    Tests share it: each makes namespaces of its own, and cluster-wide objects with names
    of its own, by `tests.control_plane.world.shared_world`, which ends its work. One that
    kills parts of it starts its own with `tests.control_plane.server.control_plane`. It
    stands still while no test uses it.
    """
    with control_plane(tmp_path_factory.mktemp("control-plane")) as plane:
        at_rest = AtRest(plane, request.session)
        request.config.pluginmanager.register(at_rest)
        yield plane
        request.config.pluginmanager.unregister(at_rest)
        Admin(plane.url, ADMIN, str(plane.ca_file)).wait_alone()  # no test left work
