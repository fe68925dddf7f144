"""`make mutation`: small faults in accounting/domain, module by module; do tests find them?

Without arguments every module; else those that are named: `MODULES="rounding line"`. What
became of each mutant is kept in `mutants/` beside a digest of the module and of the domain's
tests; what has not changed since is not tried again. Survivors are printed with their change:
each is to be killed by a test, or listed in `equivalent.toml` with the reason why none can.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOMAIN, UNITS = ROOT / "accounting" / "domain", ROOT / "tests/unit/accounting/domain"
TESTS = (UNITS, ROOT / "tests/oracle/test_drawn.py")
RESULTS = ROOT / "mutants"
FOUND = {"killed", "hangs"}
GOAL = 0.9
Results = dict[str, dict[str, str]]


def main(names: list[str]) -> int:
    """Try what is not known yet, print all; 1 where fewer than the goal are found."""
    every = sorted(path.stem for path in DOMAIN.glob("*.py") if path.stem != "__init__")
    unknown = sorted(set(names) - set(every))
    if unknown:
        print(f"No such module in accounting/domain: {', '.join(unknown)}.")
        return 2
    RESULTS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(
            zip(names or every, pool.map(results, names or every), strict=True)
        )
    return report(found)


def results(module: str) -> Results | None:
    """What became of a module's mutants; None where its tests fail without any."""
    path = RESULTS / f"{module}.{digest(module)}.json"
    if not path.exists():
        for old in RESULTS.glob(f"{module}.*.json"):
            old.unlink()
        environment = os.environ | {
            "MUTATE": f"accounting.domain.{module}",
            "MUTANTS": str(path),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "tests.mutation.plugin", *map(str, TESTS)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if not path.exists():
            print(f"{module}: not tried\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            return None
    found: Results = json.loads(path.read_text())
    return found


def digest(module: str) -> str:
    """Of all that decides what becomes of a module's mutants."""
    files = [DOMAIN / f"{module}.py", *sorted(UNITS.glob("*.py"))]
    files += sorted((ROOT / "tests/oracle").glob("*.py"))
    return hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()[:12]


def report(found: dict[str, Results | None]) -> int:
    """Figures of each module, and the survivors that nobody has explained."""
    book = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text())
    rows: list[tuple[str, int, int, int]] = []
    survivors, stale = [], []
    for module, mutants in found.items():
        if mutants is None:
            continue
        used: set[int] = set()
        own = book.get(module, [])
        killed = explained = 0
        for name, mutant in mutants.items():
            if mutant["outcome"] in FOUND:
                killed += 1
            elif is_equivalent(mutant["diff"], book.get("every", []), own, used):
                explained += 1
            else:
                survivors.append((module, name, mutant))
        rows.append((module, len(mutants), killed, explained))
        stale += [(module, own[n]) for n in range(len(own)) if n not in used]
    for module, name, mutant in survivors:
        print(f"\n{module} {name}: {mutant['outcome']}\n{mutant['diff']}")
    _, *columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    count, killed, explained = (sum(column) for column in columns)
    rows.append(("together", count, killed, explained))
    print(f"\n{'module':<20}{'mutants':>8}{'killed':>8}{'equivalent':>12}{'found':>8}")
    for module, tried, dead, equal in rows:
        share = dead / (tried - equal) if tried > equal else 1.0
        print(f"{module:<20}{tried:>8}{dead:>8}{equal:>12}{share:>8.1%}")
    for module, entry in stale:
        print(f"equivalent.toml: no survivor of {module} reads {entry['to']!r}")
    is_good = killed >= GOAL * (count - explained) and None not in found.values()
    return 0 if is_good and not stale else 1


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
    raise SystemExit(main(sys.argv[1:]))
