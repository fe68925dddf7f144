"""Columns of files: the types of FOCUS, and the digits of decimals (money.md M45)."""

from accounting.exports.rules.column_types import CellType, FileColumn, decimal_column


def test_a_decimal_column_has_38_digits() -> None:
    """M45: decimal(38, 14) and, for unit prices, decimal(38, 16)."""
    column = decimal_column("BilledCost", 14)
    assert (column.name, column.type) == ("BilledCost", CellType.DECIMAL)
    assert (column.precision, column.scale) == (38, 14)
    assert decimal_column("ListUnitPrice", 16).scale == 16


def test_a_column_is_text_without_digits_unless_said() -> None:
    column = FileColumn("ServiceName")
    assert (column.type, column.precision, column.scale) == (CellType.TEXT, 0, 0)


def test_types_are_spelled_as_in_focus() -> None:
    found = [str(one) for one in CellType]
    assert found == ["String", "Decimal", "Integer", "Date/Time", "Date"]
