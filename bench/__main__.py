"""`make bench`: P1 to P10, P16 to P30, G1, G2, C1 to C5, K1, K2, backfill, and alternatives.

Results are compared before they are timed. Exits with 1 if a floor is missed. `--only P7,P8` runs
some; `--json FILE` stores the figures.
"""

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path


def main() -> int:
    """Run the benches and print one line for each goal."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", default="", help="goals, separated by commas")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--hours", type=int, default=24, help="of the backfilled day")
    parser.add_argument(
        "--sizes", default="1000", help="GPUs of P24 to P26: 1000,10000,100000"
    )
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    from bench.database import database

    wanted = {name for name in options.only.split(",") if name}
    with database():
        from bench import (
            attribution,
            backfill,
            booked_hours,
            by_gpu,
            closing,
            decode,
            drift,
            endtoend,
            exports,
            gpu_pages,
            large_hour,
            live,
            opencost,
            plan,
            rollups,
            scale_pages,
            simulator,
            two_hosts,
            waits,
            web,
            writes,
        )

        print(
            f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()},"
            f" load {os.getloadavg()[0]:.1f} before"
        )
        figures = []
        for found in (
            writes.figures(wanted),
            endtoend.figures(wanted),
            decode.figures(wanted),
            rollups.figures(wanted),
            by_gpu.figures(wanted),
            gpu_pages.figures(wanted),
            closing.figures(wanted),
            booked_hours.figures(wanted),
            attribution.figures(wanted),
            exports.figures(wanted),
            simulator.figures(wanted),
            waits.figures(wanted),
            drift.figures(wanted),
            plan.figures(wanted),
            backfill.figures(wanted, options.hours),
            two_hosts.figures(wanted),
            large_hour.figures(wanted),
            live.figures(wanted),
            web.figures(wanted),
            opencost.figures(wanted),
            scale_pages.figures(wanted, sizes),
        ):
            for figure in found:
                figures.append(figure)
                print(f"{figure.line()}  load {os.getloadavg()[0]:.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(f) for f in figures], indent=1))
    missed = [figure.goal for figure in figures if not figure.met]
    print(f"{len(figures) - len(missed)} of {len(figures)} floors met", *missed)
    return 1 if missed else 0


sys.exit(main())
