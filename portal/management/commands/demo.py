"""`manage.py demo`: run by `make demo`."""

import sys
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from portal.demo.bootstrap.fill import compute, fill
from portal.demo.bootstrap.run import Plan, prepare
from portal.demo.bootstrap.state import MemoryFault
from portal.demo.scenario.story import WEEK_DAYS, WHOLE_FLEET, Story
from portal.embedded.errors import ServicesError
from portal.embedded.stopping import Stopped, is_stop, stopping_signals

CANNOT_RUN = 3
SMALL = {"days": 3, "gpus": 24}  # --fast
WHOLE = {"days": 8 * WEEK_DAYS, "gpus": WHOLE_FLEET}


class Command(BaseCommand):
    """Runs until stopped; exits with 0, or 3 if something must be corrected first."""

    help = "Run GPU Ledger on a simulated cluster with eight weeks of history."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Its ports, and its size at the first start."""
        parser.add_argument(
            "--port",
            type=int,
            help="port of the pages; default: the first free port from 8000",
        )
        parser.add_argument(
            "--cluster-port",
            type=int,
            help="port of the simulated cluster; its API uses the next port; default: the ports "
            "of the last start, or the first two free ports after --port",
        )
        parser.add_argument("--weeks", type=int, help="weeks of history; default: 8")
        parser.add_argument("--gpus", type=int, help=f"default: {WHOLE_FLEET}")
        parser.add_argument("--seed", type=int, default=7)
        parser.add_argument(
            "--fast",
            action="store_true",
            help="use three days and a small fleet, for tests",
        )
        parser.add_argument("--fill", action="store_true", help="load only the history")
        parser.add_argument(
            "--compute",
            type=Path,
            metavar="HOME",
            help="compute only what --fill loads for this home",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Start, watch, stop."""
        plan = _plan(options)
        try:
            with stopping_signals(), ExitStack() as stack:
                if options["fill"]:
                    fill(plan.home, self._say)
                    return
                if options["compute"]:
                    compute(options["compute"])
                    return
                demo = prepare(plan, self._say, stack)
                stack.callback(demo.stop)
                demo.start()
                demo.watch()
        except (Stopped, DatabaseError) as error:
            if not is_stop(error):
                raise
            if not options["fill"] and not options["compute"]:
                self._say("Stopped. The next start continues from here")
        except (ServicesError, MemoryFault) as error:
            self.stderr.write(f"demo: {error}")
            sys.exit(CANNOT_RUN)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _plan(options: dict[str, Any]) -> Plan:
    size = SMALL if options["fast"] else WHOLE
    weeks = options["weeks"]
    story = Story.ending_at(
        int(time.time()),
        seed=options["seed"],
        days=weeks * WEEK_DAYS if weeks else size["days"],
        gpus=options["gpus"] or size["gpus"],
    )
    return Plan(
        home=settings.HOME.home,
        secret=settings.SECRET_KEY,
        port=options["port"],
        cluster_port=options["cluster_port"],
        story=story,
    )
