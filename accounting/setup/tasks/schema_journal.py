"""The section `journal` of the setup file: which columns an ERP system reads, and their values."""

import re
from string import Formatter
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, model_validator

from accounting.exports.rules.journal import CREDIT, DATES, DEBIT, FIELDS
from accounting.setup.tasks.fields import (
    Note,
    Section,
    Text,
    fault,
    must,
    refuse_second,
)

_NAME = re.compile(r"[\w .:/()#-]{1,60}")  # needs no quotes, in CSV and in SQL
_IN_TEXT = frozenset({"period", "name", "team", "reference"})

Code = Annotated[Text, Field(max_length=60)]
ColumnName = Annotated[
    Text,
    must(
        _NAME.fullmatch,
        "is not the name of a column: letters, digits, spaces and .:/()#_- only",
    ),
]


def _is_text(text: str) -> bool:
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return False
    return all(
        name is None or (name in _IN_TEXT and not form and not change)
        for _, name, form, change in parts
    )


class JournalColumnSpec(Section):
    """One column: a field, or a value that each row has."""

    name: ColumnName
    field: (
        Annotated[
            Text,
            must(FIELDS.__contains__, f"is not one of {', '.join(sorted(FIELDS))}"),
        ]
        | None
    ) = None
    value: Annotated[Note, Field(max_length=60)] | None = None
    date_format: Annotated[
        Text, must(DATES.__contains__, f"is not one of {', '.join(DATES)}")
    ] = Field("YYYY-MM-DD", alias="format")
    debit: Code = DEBIT
    credit: Code = CREDIT

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "JournalColumnSpec":
        if (self.field is None) == (self.value is None):
            raise fault("give exactly one of field, value", "field")
        if self.field != "date" and self.date_format != "YYYY-MM-DD":
            raise fault("only a date has a format", "format")
        if self.field != "side" and (self.debit, self.credit) != (DEBIT, CREDIT):
            raise fault("only the field `side` has words for debit and credit", "debit")
        refuse_second(info, ("journal", self.name), "duplicate column", "name")
        return self


class JournalSpec(Section):
    """Accounts, the platform's cost center, and the columns of the file."""

    expense_account: Code
    recovery_account: Code
    cost_center: Annotated[Note, Field(max_length=100)] = ""
    department: Annotated[Note, Field(max_length=200)] = ""
    text: Annotated[
        Text,
        Field(max_length=120),
        must(
            _is_text,
            "may have {period}, {name}, {team} and {reference}, and no other braces",
        ),
    ] = "GPU time {period}, {name}"
    columns: Annotated[tuple[JournalColumnSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> "JournalSpec":
        fields = {one.field for one in self.columns}
        says_side = {"debit", "credit"} <= fields or "signed_amount" in fields
        if not says_side and not {"amount", "side"} <= fields:
            raise fault(
                "no column says what is debit and what is credit: use debit and credit, or"
                " signed_amount, or amount and side",
                "columns",
            )
        if "account" not in fields:
            raise fault("no column has the account", "columns")
        if "cost_center" in fields and not self.cost_center:
            raise fault("give the cost center of the platform", "cost_center")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """What is stored: the fields of a `JournalMap`."""
        columns = [
            {
                "name": one.name,
                "field": one.field or "",
                "value": one.value or "",
                "format": one.date_format,
                "debit": one.debit,
                "credit": one.credit,
            }
            for one in self.columns
        ]
        return self.model_dump(exclude={"columns"}) | {"columns": columns}
