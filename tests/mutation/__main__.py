"""`make mutation`: small faults in accounting/*/rules, module by module; do tests find them?

Without arguments every module; else those that are named: `MODULES="core.rounding"`. With
`SAMPLE=25` at most that many faults of each module, drawn by a fixed seed; `SEED=2` draws
others, since tests that were written for one sample are better judged by another. What became of
each mutant is kept in `mutants/` beside a digest of the module and of the domain's tests; what
has not changed since is not tried again. Survivors are printed with their change: each is to
be killed by a test, or listed in `equivalent.toml` with the reason why none can.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOMAIN, UNITS = ROOT / "accounting", ROOT / "tests/unit"
TESTS = (
    *(UNITS / path.name for path in DOMAIN.iterdir() if (UNITS / path.name).is_dir()),
    ROOT / "tests/oracle/test_drawn.py",
)
RESULTS = ROOT / "mutants"
FOUND = {"killed", "hangs"}
GOAL = 0.9


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a module's mutants: `tried` of `count`, in numbers of mutants."""

    module: str
    count: int
    tried: int
    killed: int
    equivalent: int

    @property
    def weight(self) -> float:
        """How many of all its mutants make a difference; estimated where it is a sample."""
        different = self.tried - self.equivalent
        return self.count * different / self.tried if self.tried else 0.0

    @property
    def share(self) -> float:
        """Of those that make a difference, how many are found; 1 where none does."""
        different = self.tried - self.equivalent
        return self.killed / different if different else 1.0


def is_rule(path: Path) -> bool:
    """Whether a module is pure: of `core`, or the rules of a subject."""
    subject, *rest = path.relative_to(DOMAIN).with_suffix("").parts
    return bool(rest) and (subject == "core" or rest[0] == "rules")


def main(names: list[str], sample: int | None) -> int:
    """Try what is not known yet, print all; 1 where fewer than the goal are found."""
    every = sorted(
        ".".join(path.relative_to(DOMAIN).with_suffix("").parts)
        for path in DOMAIN.rglob("*.py")
        if path.stem != "__init__" and is_rule(path)
    )
    unknown = sorted(set(names) - set(every))
    if unknown:
        print(f"No such module in accounting/*/rules: {', '.join(unknown)}.")
        return 2
    files = {module: file_of(module, sample) for module in names or every}
    attempt(
        {module: path for module, path in files.items() if not path.exists()}, sample
    )
    missing = [module for module, path in files.items() if not path.exists()]
    for module in missing:
        print(f"{module}: not tried")
    tried = {
        m: json.loads(path.read_text()) for m, path in files.items() if path.exists()
    }
    is_good = report(tried)
    return 0 if is_good and not missing else 1


def attempt(files: dict[str, Path], sample: int | None) -> None:
    """Let the plugin write the files; where the tests fail without any fault, it prints how."""
    if not files:
        return
    RESULTS.mkdir(exist_ok=True)
    for module in files:
        for old in RESULTS.glob(f"{module}.*.json"):
            old.unlink()
    named = {f"accounting.{module}": str(path) for module, path in files.items()}
    environment = os.environ | {
        "MUTANTS": json.dumps(named),
        "SAMPLE": str(sample or ""),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # a test that fails is not explained: that takes longer than the test
    command += ["--assert=plain", "--tb=line", "-p", "tests.mutation.plugin"]
    # the switch of a fault is a call too
    command += ["-k", "not few_calls"]
    done = subprocess.run(
        [*command, *map(str, TESTS)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{done.stdout[-2000:]}{done.stderr[-2000:]}")


def file_of(module: str, sample: int | None) -> Path:
    """Where what became of a module's mutants is kept: named by all that decides it."""
    files = [
        DOMAIN.joinpath(*module.split(".")).with_suffix(".py"),
        *sorted(UNITS.rglob("*.py")),
    ]
    files += sorted((ROOT / "tests/oracle").glob("*.py"))
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()[:12]
    whole = RESULTS / f"{module}.{digest}.json"
    if sample is None or whole.exists():
        return whole
    return RESULTS / f"{module}.{digest}.{sample}.{os.environ.get('SEED', '')}.json"


def report(results: dict[str, dict[str, object]]) -> bool:
    """Print figures and the survivors that nobody has explained; True where good enough."""
    book = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text())
    rows, stale = [], []
    for module, result in results.items():
        mutants: dict[str, dict[str, str]] = result["mutants"]  # type: ignore[assignment]  # as written
        used: set[int] = set()
        own = book.get(module, [])
        killed = explained = 0
        for name, mutant in mutants.items():
            if mutant["outcome"] in FOUND:
                killed += 1
            elif is_equivalent(mutant["diff"], book.get("every", []), own, used):
                explained += 1
            else:
                print(f"\n{module} {name}: {mutant['outcome']}\n{mutant['diff']}")
        count = int(str(result["of"]))
        rows.append(Row(module, count, len(mutants), killed, explained))
        if len(mutants) == count:
            stale += [(module, own[n]) for n in range(len(own)) if n not in used]
    share = table(rows)
    for module, entry in stale:
        print(f"equivalent.toml: no survivor of {module} reads {entry['to']!r}")
    return share >= GOAL and not stale


def table(rows: Sequence[Row]) -> float:
    """Print a row for each module, and the share found of all, each module by its size."""
    columns = ("tried", "of", "killed", "equivalent", "found")
    print(f"\n{'module':<20}" + "".join(f"{column:>11}" for column in columns))
    for row in rows:
        line(row.module, row.tried, row.count, row.killed, row.equivalent, row.share)
    weight = sum(row.weight for row in rows)
    share = sum(row.weight * row.share for row in rows) / weight if weight else 1.0
    tried, count = sum(row.tried for row in rows), sum(row.count for row in rows)
    killed = sum(row.killed for row in rows)
    line("together", tried, count, killed, sum(row.equivalent for row in rows), share)
    if tried < count:
        print(f"sampled {tried} of {count}; together weighs each module by its size")
    return share


def line(module: str, *figures: float) -> None:
    """One row of the table; the last figure is a share."""
    counts = "".join(f"{figure:>11}" for figure in figures[:-1])
    print(f"{module:<20}{counts}{figures[-1]:>11.1%}")


def is_equivalent(
    diff: str,
    every: list[dict[str, str]],
    own: list[dict[str, str]],
    used: set[int],
) -> bool:
    """True where an entry fits; which of its module's did is noted."""
    lines = diff.splitlines()
    before = [line[1:].strip() for line in lines if line.startswith("-")]
    after = [line[1:].strip() for line in lines if line.startswith("+")]
    for n, entry in enumerate(own):
        if before == [entry["from"]] and after == [entry["to"]]:
            used.add(n)
            return True
    # a general entry names the expression that the fault is in, and nothing else may change
    return any(
        len(before) == len(after) == 1
        and without(entry["pattern"], before[0]) == without(entry["pattern"], after[0])
        for entry in every
    )


def without(pattern: str, line: str) -> str:
    """A line without what a general entry speaks of, whether it is there or not."""
    return re.sub(r"\s+|,(?=\s*\))", "", re.sub(pattern, "", line))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], int(os.environ.get("SAMPLE") or 0) or None))
