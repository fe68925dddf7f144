"""What a FOCUS file says about itself: version, generator and columns (money.md M45)."""

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from accounting.exports.rules.column_types import CellType, FileColumn
from accounting.exports.rules.focus.columns import FocusProfile

GENERATOR = "GPU Ledger"
DESCRIPTION_LENGTH = 400  # characters: model, profile, state and the words between them


def schema_of(
    profile: FocusProfile, generator_version: str, created_at: datetime
) -> dict[str, Any]:
    """The schema object of the FOCUS metadata; the same columns have the same identifier."""
    columns = [definition_of(column) for column in profile.columns]
    identity = ",".join([profile.version, *(one["ColumnName"] for one in columns)])
    return {
        "SchemaId": str(uuid5(NAMESPACE_URL, f"gpu-ledger:focus:{identity}")),
        "FocusVersion": profile.version,
        "DataGenerator": GENERATOR,
        "DataGeneratorVersion": generator_version,
        "CreationDate": f"{created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "ColumnDefinition": columns,
    }


def definition_of(column: FileColumn) -> dict[str, Any]:
    """Name and type of a column, with the digits of decimals and the length of descriptions."""
    found: dict[str, Any] = {
        "ColumnName": column.name,
        "DataType": str(column.type),
    }
    if column.type is CellType.DECIMAL:
        found |= {"NumericPrecision": column.precision, "NumberScale": column.scale}
    if column.type is CellType.TEXT:
        found["StringEncoding"] = "UTF-8"
    if column.name == "ChargeDescription":
        found["StringMaxLength"] = DESCRIPTION_LENGTH
    return found
