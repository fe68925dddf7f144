"""The form that requests a file, and what a file is called on pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from accounting.exports.reads import ExportRow
from accounting.exports.rules.focus.columns import PROFILES
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.journal import has_journal
from accounting.exports.tasks.request import ExportRequest, Format, installed_formats
from accounting.kit.forms import AccessibleForm
from accounting.kit.tags.pages import revision_title
from accounting.months.reads.lines import RevisionName

CONTENTS = {
    "focus-1.4": "FOCUS 1.4",
    "focus-1.2": "FOCUS 1.2",
    What.CHARGES: "Charges",
    What.STATEMENTS: "Statements",
    What.JOURNAL: "Journal",
}
FORMATS = {Format.CSV: "CSV", Format.XLSX: "XLSX", Format.PARQUET: "Parquet"}


class ExportForm(AccessibleForm):
    """What a file is to have."""

    content = forms.ChoiceField(label="Rows", choices=list(CONTENTS.items()))
    month = forms.ChoiceField()
    team = forms.ChoiceField(required=False)
    format = forms.ChoiceField()
    background = forms.BooleanField(required=False, label="Write it in the background")

    def __init__(
        self,
        data: Any,
        *,
        initial: Mapping[str, Any],
        months: Sequence[RevisionName],
        teams: Mapping[str, str],
        sees_all: bool,
    ) -> None:
        self._months, self._teams, self._sees_all = months, teams, sees_all
        super().__init__(data, initial=initial)

    def prepare(self) -> None:
        """The booked months, the teams that the visitor may read, the installed formats.

        A journal is offered where one is set up.
        """
        if not has_journal():
            contents = CONTENTS.items()
            self.offer("content", [one for one in contents if one[0] != What.JOURNAL])
        months = [(one.name, revision_title(one.label)) for one in self._months]
        whole = [("", "All teams")] if self._sees_all else []
        self.has_months = bool(months)
        self.offer("month", months)
        self.offer("team", [*whole, *self._teams.items()])
        self.fields["team"].required = not self._sees_all
        known = installed_formats()
        self.offer("format", [(one, FORMATS[one]) for one in known])
        if missing := [label for one, label in FORMATS.items() if one not in known]:
            names = " and ".join(missing)
            self.fields["format"].help_text = f"Not installed here: {names}."

    def request(self) -> ExportRequest:
        """The request of a valid form."""
        chosen = self.cleaned_data
        is_focus = chosen["content"] in PROFILES
        period, _, revision = chosen["month"].partition("-r")
        return ExportRequest(
            What.FOCUS if is_focus else What(chosen["content"]),
            period,
            chosen["content"] if is_focus else "focus-1.4",
            chosen["team"] or None,
            Format(chosen["format"]),
            int(revision) if revision else None,
        )


def label_of(row: ExportRow) -> str:
    """What a job writes: `FOCUS 1.4 as CSV`."""
    return f"{CONTENTS[row.profile or row.what]} as {FORMATS[Format(row.format)]}"
