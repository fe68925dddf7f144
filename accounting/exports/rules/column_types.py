"""Columns of exported files: their names, types and decimal places (money.md M45)."""

from dataclasses import dataclass
from enum import StrEnum


class CellType(StrEnum):
    """What the cells of a column are. Every cell may be empty, unless a standard refuses it."""

    TEXT = "String"
    DECIMAL = "Decimal"
    INTEGER = "Integer"
    TIME = "Date/Time"
    DATE = "Date"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """One column of a file.

    Attributes:
        precision, scale: digits of a decimal in Parquet; 0 for other types.
    """

    name: str
    type: CellType = CellType.TEXT
    precision: int = 0
    scale: int = 0


def decimal_column(name: str, scale: int) -> FileColumn:
    """A column of exact decimals: Parquet stores at most 38 digits."""
    return FileColumn(name, CellType.DECIMAL, 38, scale)
