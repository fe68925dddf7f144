"""`manage.py change_set plan|apply|undo|join FILE.yaml`: quotas and tiers from a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand
from django.utils import timezone

from accounting.access.reads.billing_settings import billing_at
from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import FINDING, WRONG_USE, write_rows
from accounting.metering.models.cluster import Cluster
from accounting.setup.tasks.yaml_lines import DocumentError, Fault, decode
from scheduler_view.changes.actions.change_file import (
    ChangeFile,
    line_fault,
    read_change,
)
from scheduler_view.changes.actions.change_sets import ChangeRefused, check_draft
from scheduler_view.changes.actions.foreground import (
    changes_nothing,
    compute_plan,
    join_to,
    made_from,
    make,
    take_back,
)
from scheduler_view.changes.models import ChangeSet, ChangeState, ChangeStep
from scheduler_view.changes.rules.edit import EditsRefused
from scheduler_view.changes.tasks.base_versions import LostUpdate
from scheduler_view.changes.tasks.plan_text import plan_text_of
from scheduler_view.changes.tasks.planner import Computed
from scheduler_view.clusters.client.errors import ClusterError

FORMATS = ("table", "json")


class Command(BaseCommand):
    """Exits with 0, 1 if something would change or was not applied, 2 for wrong use."""

    help = (
        "Plan, apply or undo a change of quotas and priority tiers from a file, or add its edits "
        "to an open change set."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The action, and the file."""
        parser.add_argument("verb", choices=("plan", "apply", "undo", "join"))
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--to",
            type=number_of,
            metavar="CS-N",
            help="the change set to add the edits to",
        )
        parser.add_argument(
            "--force",
            action="append",
            default=[],
            metavar="OBJECT",
            help='for undo: an object that others changed since, such as "ClusterQueue vision"; '
            "its values are overwritten",
        )
        parser.add_argument("--format", choices=FORMATS, default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read the file, then run the action."""
        if (options["verb"] == "join") != (options["to"] is not None):
            self._wrong("change_set: join requires --to CS-N, and --to requires join")
        if options["force"] and options["verb"] != "undo":
            self._wrong("change_set: --force is for undo; a file has its own 'force'")
        wanted = self._read(options["file"])
        cluster = Cluster.objects.get(name=wanted.cluster)
        try:
            if options["verb"] == "plan":
                self._plan(cluster, wanted, options["format"])
            elif options["verb"] == "apply":
                self._apply(cluster, wanted, options["format"])
            elif options["verb"] == "join":
                self._join(cluster, wanted, options["to"], options["format"])
            else:
                self._undo(cluster, wanted, options["format"], options["force"])
        except EditsRefused as error:
            self._wrong(*(f"{fault.field}: {fault.text}" for fault in error.faults))
        except LostUpdate as error:
            self._found(*error.differences)
        except ClusterError as error:
            self._found(f"cluster {cluster}: {error.message}")
        except ChangeRefused as error:
            self._found(str(error))

    def _read(self, path: Path) -> ChangeFile:
        try:
            text = decode(path.read_bytes())
            names = list(Cluster.objects.values_list("name", flat=True))
            zone = billing_at(timezone.now()).timezone
            wanted = read_change(text, clusters=names, timezone=zone)
            try:
                check_draft(wanted.draft, timezone.now())
            except ValidationError as error:
                faults = _faults(text, error)
                raise DocumentError(faults) from error
        except OSError as error:
            self._wrong(f"{path}: cannot be read: {error.strerror}")
        except DocumentError as error:
            self._wrong(*(f"{path}: {fault}" for fault in error.faults))
        return wanted

    def _plan(self, cluster: Cluster, wanted: ChangeFile, kind: str) -> None:
        found = compute_plan(cluster=cluster, draft=wanted.draft, now=timezone.now)
        rows = [_planned(found, i) for i in range(len(found.steps))]
        text = plan_text_of(cluster, found, timezone.now())
        if kind == "json":
            write_rows(rows, "json", self.stdout)
        else:
            self.stdout.write(text["summary"])
            write_rows(rows, "table", self.stdout)
            for one in (*text["effects"], *text["warnings"]):
                self.stdout.write(f"- {one['text']}")
        if not changes_nothing(found):
            sys.exit(FINDING)

    def _apply(self, cluster: Cluster, wanted: ChangeFile, kind: str) -> None:
        found = compute_plan(cluster=cluster, draft=wanted.draft, now=timezone.now)
        if changes_nothing(found):
            self.stdout.write("no changes")
            return
        done = make(
            cluster=cluster,
            draft=wanted.draft,
            actor=SYSTEM,
            now=timezone.now,
            say=self._say,
        )
        self._result(done, kind)

    def _undo(
        self, cluster: Cluster, wanted: ChangeFile, kind: str, forced: list[str]
    ) -> None:
        before = made_from(cluster, wanted.draft)
        if before is None:
            self._found(f"no applied change of {cluster} has the edits of this file")
        done = take_back(
            before, actor=SYSTEM, now=timezone.now, say=self._say, forced=forced
        )
        self._result(done, kind)

    def _join(
        self, cluster: Cluster, wanted: ChangeFile, number: int, kind: str
    ) -> None:
        draft = wanted.draft
        if draft.forced or draft.starts_at or draft.ends_at:
            self._wrong("change_set: join accepts only edits, no force and no times")
        found = ChangeSet.objects.filter(pk=number, cluster=cluster).first()
        if found is None:
            self._found(f"cluster {cluster} has no CS-{number}")
        replaced = join_to(found, draft=draft, actor=SYSTEM, now=timezone.now)
        for one in replaced:
            self._say(f"replaces the edit of {' '.join(filter(None, one.key))}")
        self._say(f"{found} has {len(found.edits)} edits")
        if found.error:
            self._found(f"{found} cannot be planned: {found.error}")
        self._say(found.plan["summary"])
        rows = [_step(step) for step in found.steps.all()]
        write_rows(rows, kind, self.stdout)

    def _result(self, change_set: ChangeSet, kind: str) -> None:
        rows = [_step(step) for step in change_set.steps.all()]
        write_rows(rows, kind, self.stdout)
        if change_set.state in (ChangeState.APPLIED, ChangeState.SCHEDULED):
            self._say(f"{change_set} is {change_set.get_state_display().lower()}")
            return
        state = change_set.get_state_display().lower()
        self._found(f"{change_set} is {state}: {change_set.error}")

    def _say(self, text: str) -> None:
        self.stderr.write(text)

    def _found(self, *lines: str) -> NoReturn:
        for line in lines:
            self.stderr.write(f"change_set: {line}")
        sys.exit(FINDING)

    def _wrong(self, *lines: str) -> NoReturn:
        for line in lines:
            self.stderr.write(line)
        sys.exit(WRONG_USE)


def number_of(text: str) -> int:
    """`CS-5` or `5`, as an argument.

    Raises:
        ValueError: the text has neither form.
    """
    number = int(text.removeprefix("CS-"))
    if not 0 < number < 2**31:
        raise ValueError(text)
    return number


def _step(step: ChangeStep) -> dict[str, Any]:
    return {
        "object": str(step),
        "action": step.action,
        "state": step.state,
        "message": step.message or step.blocked,
    }


def _faults(text: str, error: ValidationError) -> list[Fault]:
    return [
        line_fault(text, name, f"{name}: {message}")
        for name, messages in error.message_dict.items()
        for message in messages
    ]


def _planned(found: Computed, index: int) -> dict[str, Any]:
    step = found.steps[index]
    changes = ", ".join(
        f"{change.field}: {_shown(change.before)} -> {_shown(change.after)}"
        for change in step.changes
    )
    return {
        "object": str(step.key),
        "action": step.action.value,
        "changes": changes,
        "blocked": step.blocked,
    }


def _shown(value: str | None) -> str:
    return "-" if value is None else value
