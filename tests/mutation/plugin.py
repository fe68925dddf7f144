"""A pytest plugin: small faults (mutants) of some modules, each in a fork of this process.

mutmut makes the mutants and switches them; its own run starts pytest anew for each, which
takes hours here. This one collects once, notes which tests enter which function, and then
forks for each mutant: the child runs the tests of its function, the quickest first, until
one fails. `MUTANTS` is a JSON object: for each module the file for what became of its
mutants, written when the module is through; `SAMPLE` is how many of a module are tried at
most (all where empty), `SEED` which ones. They are read when this module is imported, before
Django imports what is to be changed.
"""

import difflib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
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
LONG = 0.1  # seconds of a test: it is timed twice
PATIENCE = 10  # times the processor time its tests take without it: then it hangs
NO_TEST, SURVIVED, KILLED, HANGS = "no test", "survived", "killed", "hangs"


class Mutants(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Mutants of some modules, tried one after another; at most `most` of each."""

    def __init__(self, results: dict[str, str], most: int | None) -> None:
        self.results, self.most = results, most
        self.made: dict[str, file_mutation.MutatedFile] = {}
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
        """These modules only."""
        del path, target
        if fullname not in self.results:
            return None
        file = Path(*fullname.split(".")).with_suffix(".py")
        return importlib.util.spec_from_file_location(fullname, file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """The module with all its mutants, none of them active."""
        path = str(module.__file__)
        made = file_mutation.mutate_file_contents(path, Path(path).read_text())
        self.made[module.__name__] = made
        code: CodeType = compile(made.code, path, "exec")
        exec(code, module.__dict__)  # noqa: S102  # that is what a loader does

    # --- trying ----------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Without a fault first; then each mutant."""
        # time on the wall says nothing of a test where many run; see PATIENCE
        session.config.pluginmanager.unregister(name="timeout")
        os.environ["MUTANT_UNDER_TEST"] = "stats"
        for item in session.items:
            state()._stats.clear()
            self._time(item)
            for function in state()._stats:
                self.entered[function].add(item.nodeid)
        os.environ["MUTANT_UNDER_TEST"] = ""
        for item in session.items:
            if (
                self.seconds[item.nodeid] > LONG
            ):  # again: what is made once is there now
                self._time(item)
        if session.testsfailed:
            raise session.Failed("tests fail without any fault")
        gc.freeze()  # else every child copies all memory in its first collection
        for module, results in self.results.items():
            self._try_module(module, Path(results), session)
        return True

    def _time(self, item: pytest.Item) -> None:
        begin = time.process_time()
        _run(item)
        self.seconds[item.nodeid] = time.process_time() - begin

    def _try_module(self, module: str, results: Path, session: pytest.Session) -> None:
        importlib.import_module(module)
        names = list(self.made[module].mutant_names)
        # by a seed: the same of an unchanged module each time, and more contain fewer
        random.Random(f"{os.environ.get('SEED', '')}{module}").shuffle(names)
        found = {name: self._try(module, name, session) for name in names[: self.most]}
        results.write_text(json.dumps({"of": len(names), "mutants": found}, indent=1))

    def _try(self, module: str, name: str, session: pytest.Session) -> dict[str, str]:
        function = f"{module}.{mangled_name_from_mutant_name(name)}"
        items = [i for i in session.items if i.nodeid in self.entered[function]]
        items.sort(key=lambda item: self.seconds[item.nodeid])
        outcome = self._outcome(f"{module}.{name}", items, session)
        is_found = outcome in {KILLED, HANGS}
        diff = "" if is_found else _diff(self.made[module], name)
        return {"outcome": outcome, "diff": diff}

    def _outcome(
        self, mutant: str, items: Sequence[pytest.Item], session: pytest.Session
    ) -> str:
        if not items:
            return NO_TEST
        child = os.fork()
        if not child:
            trampoline.set_mutant_under_test(mutant)
            _clear_caches()
            limit = min(MOST_SECONDS, sum(self.seconds[i.nodeid] for i in items))
            # the signal's default ends the process
            signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE * limit + 2)
            os._exit(_fails(items, self.seconds, session))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return HANGS if os.WTERMSIG(status) == signal.SIGVTALRM else KILLED
        return SURVIVED if os.WEXITSTATUS(status) == 0 else KILLED


def _diff(made: file_mutation.MutatedFile, name: str) -> str:
    """What the fault changes, line by line."""
    lines, spans = made.code.splitlines(), made.line_span_by_function_name
    whole = f"{mangled_name_from_mutant_name(name)}__mutmut_orig"
    before, after = (
        lines[span.start : span.end] for span in (spans[whole], spans[name])
    )
    changes = difflib.ndiff(before, after)
    return "\n".join(
        line for line in changes if line[:1] in {"+", "-"} and "__mutmut_" not in line
    )


def _run(item: pytest.Item) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _clear_caches() -> None:
    """Empty the domain's caches: their values were computed without the fault."""
    for name, module in list(sys.modules.items()):
        if name.startswith("accounting.core.") or ".rules" in name:
            for thing in list(vars(module).values()):
                if callable(clear := getattr(thing, "cache_clear", None)):
                    clear()


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


MUTANTS = Mutants(
    json.loads(os.environ["MUTANTS"]), int(os.environ.get("SAMPLE") or 0) or None
)
