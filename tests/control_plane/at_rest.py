"""A control plane of a whole run takes no processor time between the tests that use it.

An idle API server, its store and its controllers take a twentieth of a processor: a minute over a
run. While no test uses them, their processes are stopped (SIGSTOP). Leases may expire meanwhile;
the tests after it begin when the API server answers.
"""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.control_plane.server import READY_S, ControlPlane
from tests.processes import wait_until

MARK = "control_plane"


class AtRest:
    """A plugin of pytest: awake in modules that use the control plane, and at the end."""

    def __init__(self, plane: ControlPlane, session: pytest.Session) -> None:
        """Begin awake."""
        self.plane = plane
        self.modules = modules_of_clusters(session.items)
        self.is_awake = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Wake up before the fixtures of a test ask."""
        if item.path in self.modules:
            self.wake()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        """Rest after the last test of a module; fixtures of the session end awake."""
        if nextitem is None:
            self.wake()
        yield
        if nextitem is not None and nextitem.path not in self.modules:
            self.rest()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """A session that is interrupted ends its fixtures here."""
        self.wake()

    def rest(self) -> None:
        """Let all processes stand still."""
        if self.is_awake:
            self.is_awake = False
            for name in self.plane.running:
                self.plane.freeze(name)

    def wake(self) -> None:
        """Let them go on; returns when the API server answers."""
        if not self.is_awake:
            self.is_awake = True
            for name in self.plane.running:
                self.plane.thaw(name)
            wait_until(self.plane.is_ready, READY_S)


def modules_of_clusters(items: list[pytest.Item]) -> set[Path]:
    """The modules with a test that uses a control plane."""
    return {item.path for item in items if item.get_closest_marker(MARK)}
