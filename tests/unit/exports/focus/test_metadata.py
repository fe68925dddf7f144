"""What a FOCUS file says about itself (money.md M45), as the metadata of FOCUS name it."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from accounting.exports.rules.column_types import CellType, FileColumn, decimal_column
from accounting.exports.rules.focus.columns import FOCUS_1_2, FOCUS_1_4, FocusProfile
from accounting.exports.rules.focus.metadata import definition_of, schema_of

COLUMNS = (
    decimal_column("BilledCost", 14),
    decimal_column("ListUnitPrice", 16),
    FileColumn("ChargeDescription"),
    FileColumn("x_Milliseconds", CellType.INTEGER),
    FileColumn("ChargePeriodStart", CellType.TIME),
)
PROFILE = FocusProfile("focus-9.9", "9.9", COLUMNS)
# 00:30 of 1 November in Berlin, an hour ahead of UTC
AT = datetime(2026, 11, 1, 0, 30, 5, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.usefixtures("in_tokyo")
def test_a_schema_names_version_generator_time_and_columns() -> None:
    """Its identifier is RFC 9562's version 5 of the version and names, worked out with SHA-1."""
    assert schema_of(PROFILE, "0.9.0", AT) == {
        "SchemaId": "aa09ef0f-d77f-55aa-a6f7-378eb114feb7",
        "FocusVersion": "9.9",
        "DataGenerator": "GPU Ledger",
        "DataGeneratorVersion": "0.9.0",
        "CreationDate": "2026-10-31T23:30:05Z",
        "ColumnDefinition": [definition_of(column) for column in COLUMNS],
    }


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (
            COLUMNS[0],
            {"DataType": "Decimal", "NumericPrecision": 38, "NumberScale": 14},
        ),
        (
            COLUMNS[1],
            {"DataType": "Decimal", "NumericPrecision": 38, "NumberScale": 16},
        ),
        (
            COLUMNS[2],
            {"DataType": "String", "StringEncoding": "UTF-8", "StringMaxLength": 400},
        ),
        (
            FileColumn("ServiceName"),
            {"DataType": "String", "StringEncoding": "UTF-8"},
        ),
        (COLUMNS[3], {"DataType": "Integer"}),
        (COLUMNS[4], {"DataType": "Date/Time"}),
    ],
    ids=lambda one: one.name if isinstance(one, FileColumn) else "",
)
def test_a_column_has_the_properties_of_its_type(
    column: FileColumn, expected: dict[str, object]
) -> None:
    assert definition_of(column) == {"ColumnName": column.name} | expected


def test_the_same_columns_have_the_same_identifier() -> None:
    def identifier(profile: FocusProfile, at: datetime = AT) -> object:
        return schema_of(profile, "0.9.0", at)["SchemaId"]

    own = identifier(PROFILE)
    assert own == identifier(PROFILE, AT + timedelta(days=1))
    assert own == schema_of(PROFILE, "1.0.0", AT)["SchemaId"]
    others = [
        replace(PROFILE, version="9.8"),
        replace(PROFILE, columns=COLUMNS[:-1]),
        replace(PROFILE, columns=COLUMNS[::-1]),
        FOCUS_1_4,
        FOCUS_1_2,
    ]
    assert len({own, *map(identifier, others)}) == 6
