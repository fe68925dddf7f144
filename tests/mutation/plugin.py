"""A pytest plugin: every small fault (mutant) of one module, each in a fork of this process.

mutmut makes the mutants and switches them; its own run starts pytest anew for each, which
takes hours here. This one collects once, notes which tests enter which function, and then
forks for each mutant: the child runs the tests of its function, the quickest first, until
one fails. `MUTATE` names the module, `MUTANTS` the JSON file for what became of them; both
are read when this module is imported, before Django imports what is to be changed.
"""

import difflib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from mutmut.mutation import file_mutation, trampoline
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

MOST_SECONDS = 20.0  # of tests for one mutant; the slowest beyond that are left out
PATIENCE = (
    10  # times as long as its tests take without a fault: then it hangs, so is found
)
NO_TEST, SURVIVED, KILLED, HANGS = "no test", "survived", "killed", "hangs"


class Mutants(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """All mutants of a module, tried one after another."""

    def __init__(self, module: str, results: Path) -> None:
        self.module, self.results = module, results
        path = Path(*module.split(".")).with_suffix(".py")
        self.path = path
        made = file_mutation.mutate_file_contents(str(path), path.read_text())
        self.code, self.names = made.code, made.mutant_names
        self.spans = made.line_span_by_function_name
        self.entered: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        sys.meta_path.insert(0, self)

    # --- importing -------------------------------------------------------------------

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """This module only."""
        del path, target
        if fullname != self.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """The module with all its mutants, none of them active."""
        code: CodeType = compile(self.code, str(self.path), "exec")
        exec(code, module.__dict__)  # noqa: S102  # that is what a loader does

    # --- trying ----------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Without a fault first; then each mutant."""
        os.environ["MUTANT_UNDER_TEST"] = "stats"
        for item in session.items:
            state()._stats.clear()
            begin = time.perf_counter()
            _run(item)
            self.seconds[item.nodeid] = time.perf_counter() - begin
            for function in state()._stats:
                self.entered[function].add(item.nodeid)
        os.environ["MUTANT_UNDER_TEST"] = ""
        if session.testsfailed:
            raise session.Failed("tests fail without any fault")
        found = {name: self._try(name, session) for name in self.names}
        self.results.write_text(json.dumps(found, indent=1))
        return True

    def _try(self, name: str, session: pytest.Session) -> dict[str, str]:
        function = f"{self.module}.{mangled_name_from_mutant_name(name)}"
        items = [i for i in session.items if i.nodeid in self.entered[function]]
        items.sort(key=lambda item: self.seconds[item.nodeid])
        outcome = self._outcome(f"{self.module}.{name}", items, session)
        diff = "" if outcome in {KILLED, HANGS} else self._diff(name)
        return {"outcome": outcome, "diff": diff}

    def _outcome(
        self, mutant: str, items: Sequence[pytest.Item], session: pytest.Session
    ) -> str:
        if not items:
            return NO_TEST
        child = os.fork()
        if not child:
            trampoline.set_mutant_under_test(mutant)
            limit = min(MOST_SECONDS, sum(self.seconds[i.nodeid] for i in items))
            signal.alarm(int(PATIENCE * limit) + 2)  # its default ends the process
            os._exit(_fails(items, self.seconds, session))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return HANGS if os.WTERMSIG(status) == signal.SIGALRM else KILLED
        return SURVIVED if os.WEXITSTATUS(status) == 0 else KILLED

    def _diff(self, name: str) -> str:
        """What the fault changes, line by line."""
        lines = self.code.splitlines()
        whole = f"{mangled_name_from_mutant_name(name)}__mutmut_orig"
        before, after = (
            lines[span.start : span.end]
            for span in (self.spans[whole], self.spans[name])
        )
        changes = difflib.ndiff(before, after)
        return "\n".join(
            line
            for line in changes
            if line[:1] in {"+", "-"} and "__mutmut_" not in line
        )


def _run(item: pytest.Item) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _fails(
    items: Sequence[pytest.Item], seconds: dict[str, float], session: pytest.Session
) -> int:
    """1 where a test fails; the tests of a child say nothing aloud."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    left = MOST_SECONDS
    try:
        for item in items:
            left -= seconds[item.nodeid]
            if left < 0:
                break
            _run(item)
            if session.testsfailed:
                return 1
    except BaseException:  # whatever a fault may raise, it is found
        return 1
    return 0


def pytest_configure(config: pytest.Config) -> None:
    """Try the mutants instead of running the tests."""
    config.pluginmanager.register(MUTANTS)


MUTANTS = Mutants(os.environ["MUTATE"], Path(os.environ["MUTANTS"]))
