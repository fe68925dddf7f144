"""docs/sources.md, data-health.md and metering.md: what code knows and files record, in words.

`python -m tests.sources_page` writes the pages; a test says when one is out of date.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from accounting.core.issue_catalogue import TEXTS
from accounting.metering.rules.inventory.label_names import label_name
from accounting.metering.rules.units.mig_profiles import known_models, profiles_of
from accounting.metering.sources.catalogue import (
    CLOUDS,
    EXPORTER_METRICS,
    KNOWN_METRICS,
    KUBE_METRICS,
    QUEUE_METRICS,
    is_kept,
    is_reserved,
    is_unknown_gpu_metric,
    metric_of,
)
from accounting.metering.sources.exposition import Parser, limited_lines
from tests import shared_data

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sources.md"
RECORDED = shared_data.DATA / "exposition"
HEALTH = ROOT / "docs" / "data-health.md"
METERING = ROOT / "docs" / "metering.md"
CATALOGUE, FILES, CODES, PROFILES = "catalogue", "files", "codes", "profiles"
LIFECYCLES, READINGS = "lifecycles", "readings"
CARDS = [ROOT / "tests" / "data" / "nvml" / f"{card}.json" for card in ("h100", "h200")]


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def catalogue() -> str:
    """Every name that is summed, and those that are known and not summed."""
    used = table(
        ("Name", "Exporter or version", "Unit", "Becomes", "Note"),
        (
            (f"`{name}`", m.versions, m.unit, f"`{m.id}`", m.note)
            for name, m in EXPORTER_METRICS.items()
        ),
    )
    known = table(
        ("Known, not summed", "Exporter or version", "Unit"),
        ((f"`{name}`", m.versions, m.unit) for name, m in KNOWN_METRICS.items()),
    )
    kube = ", ".join(f"`{name}`" for name in sorted(KUBE_METRICS))
    queues = table(
        ("Queue metric", "Scheduler", "Becomes", "Of"),
        (
            (f"`{name}`", m.scheduler, f"`{m.id}`", f"`{m.queue}`")
            for name, m in QUEUE_METRICS.items()
        ),
    )
    return f"{used}\n\n{known}\n\n{queues}\n\nkube-state-metrics: {kube}."


def lifecycles() -> str:
    """By which label of a node each cloud spells a lifecycle."""
    return table(
        ("Label of the node", "As kube-state-metrics writes it", "Value", "Lifecycle"),
        (
            (f"`{key}`", f"`{label_name(key)}`", f"`{value}`" if value else "any", kind)
            for key, value, kind in CLOUDS
        ),
    )


def codes() -> str:
    """Every code of a data issue in words."""
    rows = (
        (f"`{code}`", text.title, text.advice, text.at_stake or "-")
        for code, text in sorted(TEXTS.items())
    )
    return table(("Code", "What", "What to do", "At stake"), rows)


def profiles() -> str:
    """Every MIG profile of every model that the ledger knows."""
    return table(
        ("GPU", "Profile", "Of its compute", "Of its memory", "At most"),
        (
            (model.upper(), f"`{name}`", str(s.compute), str(s.memory), str(s.most))
            for model in known_models()
            for name, s in profiles_of(model)
        ),
    )


def readings() -> str:
    """What an H100 and an H200 reported for known work."""
    h100, h200 = (json.loads(card.read_text())["work"] for card in CARDS)
    rows = []
    for work in h100:
        pairs = zip(_percents(h100[work]), _percents(h200[work]), strict=True)
        rows.append((work, *(f"{first:.1f} / {second:.1f}" for first, second in pairs)))
    return table(("Work", "Utilization", "Engine activity", "SM activity"), rows)


def _percents(work: Mapping[str, Any]) -> tuple[float, float, float]:
    """Mean utilization, engine activity and SM activity."""
    utilization = fmean(work["utilization_percent"])
    engine = work["engine_activity_percent"]
    return utilization, engine, work["multiprocessor_activity_percent"]


def names_of(path: Path) -> list[str]:
    """The metric names of a recorded file, whatever its form."""
    if path.suffix == ".csv":
        with path.open() as file:
            rows = [row for row in csv.reader(file) if len(row) > 1]
        return sorted(
            {
                row[0].lstrip("# ").strip()
                for row in rows
                if "DCGM" in row[0] and " " not in row[0].lstrip("# ").strip()
            }
        )
    if path.suffix == ".md":
        return sorted(
            set(re.findall(r"^\| `([a-z_]+)`", path.read_text(), re.MULTILINE))
        )
    parser = Parser(default_ms=1_790_848_800_000)
    lines = limited_lines([path.read_bytes()])
    list(parser.samples(lines, is_openmetrics=False))
    return sorted(parser.limits.names)


def sort_of(name: str) -> str:
    """Which way the ledger goes with a name."""
    if is_unknown_gpu_metric(name):
        return "unknown"
    if name in KUBE_METRICS or name in QUEUE_METRICS:
        return "used"
    if is_kept(name):
        return "used" if metric_of(name, {}).is_used else "known"
    return "known" if is_reserved(name) else "unknown"


def recorded() -> Iterator[Path]:
    """The recorded files, in order."""
    yield from sorted(path for path in RECORDED.iterdir() if path.name != "README.md")


def files() -> str:
    """What was recognised in each recorded file."""
    rows = []
    for path in recorded():
        names: dict[str, list[str]] = {"used": [], "known": [], "unknown": []}
        for name in names_of(path):
            names[sort_of(name)].append(name)
        used = sorted({_id(name) for name in names["used"]})
        rows.append(
            (
                path.name,
                ", ".join(f"`{id_}`" for id_ in used) or "-",
                str(len(names["known"])),
                ", ".join(f"`{name}`" for name in names["unknown"]) or "none",
            )
        )
    head = ("File", "Summed or read as", "Names known, not summed", "Unknown")
    return table(head, rows)


def _id(name: str) -> str:
    if name in QUEUE_METRICS:
        return QUEUE_METRICS[name].id
    return name if name in KUBE_METRICS else metric_of(name, {}).id


def part(text: str, name: str) -> str:
    """What stands between the marks of a part of the page."""
    return text.split(f"<!-- {name} -->\n")[1].split(
        f"\n<!-- end {name} -->", maxsplit=1
    )[0]


def main() -> None:
    """Write all parts anew; their marks stand on lines of their own."""
    _write(
        PAGE,
        ((CATALOGUE, catalogue()), (LIFECYCLES, lifecycles()), (FILES, files())),
    )
    _write(HEALTH, ((CODES, codes()),))
    _write(METERING, ((PROFILES, profiles()), (READINGS, readings())))


def _write(page: Path, parts: Iterable[tuple[str, str]]) -> None:
    text = page.read_text()
    for name, made in parts:
        marks = f"<!-- {name} -->\n", f"\n<!-- end {name} -->"
        assert all(text.count(mark) == 1 for mark in marks), (page, name)
        before, _, rest = text.partition(marks[0])
        text = before + marks[0] + made + marks[1] + rest.partition(marks[1])[2]
    page.write_text(text)


if __name__ == "__main__":
    main()
