"""The header, rows and options of a price list (money.md M19).

Not here: what becomes of a row (`test_price_import.py`).
"""

import re
from io import BytesIO, TextIOWrapper

import pytest

from accounting.prices.rules.price_file import aliases_of, columns_of, rows_of
from accounting.prices.rules.price_offers import PriceFileError

HEADER = ["model", "per_gpu_hour", "valid_from"]
FIELDS = (
    "kind, model, cluster, profile, lifecycle, tier, currency, per_gpu_hour, valid_from,"
    " valid_to, source_note, price_list, memory, count"
)


def exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


# --- options -------------------------------------------------------------------------


def test_columns_with_the_names_of_fields_need_no_option() -> None:
    found = columns_of([*HEADER, "cloud", "tier"])
    assert found.named == {"model": "model", "valid_from": "valid_from", "tier": "tier"}
    assert found.prices == (("per_gpu_hour", ""),)
    assert (found.constants, found.where) == ({}, {})


def test_options_name_other_columns_and_constants() -> None:
    found = columns_of(
        ["gpu", "since", "od", "spot", "sku:x", "model"],
        maps=[
            " model = gpu ",
            "valid_from=since",
            "per_gpu_hour=od:on-demand",
            "per_gpu_hour=spot",
            "per_gpu_hour=sku:x",  # the column's own name has a colon
            "per_gpu_hour=sku:x:reserved",
        ],
        sets=["currency=USD", "source_note=list=2026"],
    )
    assert found.named == {"model": "gpu", "valid_from": "since"}
    assert found.prices == (
        ("od", "on-demand"),
        ("spot", ""),
        ("sku:x", ""),
        ("sku:x", "reserved"),
    )
    assert found.constants == {"currency": "USD", "source_note": "list=2026"}


def test_a_constant_is_used_instead_of_the_column_of_its_name() -> None:
    found = columns_of([*HEADER, "tier"], sets=["model=A100", "tier="])
    assert found.named == {"valid_from": "valid_from"}
    assert found.constants == {"model": "A100", "tier": ""}


def test_a_price_may_be_a_constant() -> None:
    found = columns_of(["model", "valid_from"], sets=["per_gpu_hour=2.10"])
    assert found.prices == (("", ""),)
    assert found.constants == {"per_gpu_hour": "2.10"}


def test_a_constant_price_is_used_instead_of_columns() -> None:
    constant = (("", ""),)
    assert columns_of(HEADER, sets=["per_gpu_hour=2.10"]).prices == constant
    mapped = columns_of(
        [*HEADER, "spot"], ["per_gpu_hour=spot:spot"], ["per_gpu_hour=2.10"]
    )
    assert mapped.prices == constant


def test_two_values_of_one_column_are_both_wanted() -> None:
    found = columns_of([*HEADER, "cloud", "zone"], wheres=["cloud=AWS", "cloud=GCP"])
    assert found.where == {"cloud": {"AWS", "GCP"}}
    several = columns_of([*HEADER, "cloud", "zone"], wheres=["cloud=AWS", "zone = a=b"])
    assert several.where == {"cloud": {"AWS"}, "zone": {"a=b"}}


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("maps", "tier", "--map 'tier': write FIELD=COLUMN"),
        ("maps", " =x", "--map ' =x': write FIELD=COLUMN"),
        ("sets", "tier", "--set 'tier': write FIELD=VALUE"),
        ("wheres", "cloud", "--where 'cloud': write COLUMN=VALUE"),
        ("maps", "x=model", f"field 'x' is not known; use one of: {FIELDS}"),
        ("sets", "x=model", f"field 'x' is not known; use one of: {FIELDS}"),
    ],
)
def test_an_option_in_another_form_is_refused(
    option: str, text: str, message: str
) -> None:
    with pytest.raises(PriceFileError, match=exactly(message)):
        columns_of(HEADER, **{option: [text]})


@pytest.mark.parametrize(
    ("option", "text", "name"),
    [
        ("maps", "tier=x", "x"),
        ("maps", "per_gpu_hour=od", "od"),
        ("maps", "per_gpu_hour=od:spot", "od"),
        ("wheres", "cloud=AWS", "cloud"),
    ],
)
def test_a_column_that_is_not_in_the_file_is_refused_with_those_that_are(
    option: str, text: str, name: str
) -> None:
    listed = "model, per_gpu_hour, valid_from"
    message = f"column {name!r} is not known; use one of: {listed}"
    with pytest.raises(PriceFileError, match=exactly(message)):
        columns_of([*HEADER, ""], **{option: [text]})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            HEADER[1:],
            "no column for model: use --map or --set. The columns are: per_gpu_hour, valid_from",
        ),
        (
            HEADER[:2],
            "no column for valid_from: use --map or --set. The columns are: model, per_gpu_hour",
        ),
        (
            HEADER[::2],
            "no column for per_gpu_hour: use --map per_gpu_hour=COLUMN",
        ),
    ],
)
def test_a_field_that_every_price_needs_is_missed(
    header: list[str], message: str
) -> None:
    with pytest.raises(PriceFileError, match=exactly(message)):
        columns_of(header)


def test_an_alias_is_a_text_and_the_model_after_the_last_equals_sign() -> None:
    found = aliases_of(
        ["H100 = NVIDIA-H100-80GB-HBM3", "size=80=NVIDIA-A100-SXM4-80GB"]
    )
    assert found == {
        "H100": "NVIDIA-H100-80GB-HBM3",
        "size=80": "NVIDIA-A100-SXM4-80GB",
    }
    assert aliases_of([]) == {}


@pytest.mark.parametrize(
    "text", ["H100", "=NVIDIA-L4", " =NVIDIA-L4", "H100=", "H100= "]
)
def test_an_alias_without_a_text_or_a_model_is_refused(text: str) -> None:
    message = f"--alias {text!r}: write TEXT=MODEL"
    with pytest.raises(PriceFileError, match=exactly(message)):
        aliases_of([text])


# --- rows ----------------------------------------------------------------------------


def test_rows_have_the_number_of_their_line() -> None:
    """A blank line is no row; a cell may have a line break, and its row ends on the last line."""
    lines = ["a, b \n", "1,2\n", "\n", '"x\n', 'y",3\n', "4,5\n"]
    assert list(rows_of(lines)) == [
        (1, {"a": "", "b": ""}),
        (2, {"a": "1", "b": "2"}),
        (5, {"a": "x\ny", "b": "3"}),
        (6, {"a": "4", "b": "5"}),
    ]
    assert list(rows_of(["a,b\n"])) == [(1, {"a": "", "b": ""})]


@pytest.mark.parametrize("lines", [[], ["\n", "a\n"], [" , \n", "1,2\n"]])
def test_a_file_without_a_header_is_refused(lines: list[str]) -> None:
    with pytest.raises(PriceFileError, match=exactly("the file has no header")):
        next(rows_of(lines))


def test_a_column_that_is_there_twice_is_named_but_empty_names_are_not() -> None:
    message = "the column 'a' is there more than once"
    with pytest.raises(PriceFileError, match=exactly(message)):
        next(rows_of(["b,a,b, a\n"]))
    assert next(rows_of(["a,,\n"])) == (1, {"a": "", "": ""})


def test_a_file_may_have_as_many_rows_as_allowed() -> None:
    lines = ["a\n", "1\n", "\n", "2\n"]
    assert len(list(rows_of(lines, most_rows=2))) == 3
    message = exactly("more than 2 rows: split the file")
    with pytest.raises(PriceFileError, match=message):
        list(rows_of([*lines, "3\n"], most_rows=2))
    long = ["a\n", *["1\n"] * 1_001]
    with pytest.raises(
        PriceFileError, match=exactly("more than 1,000 rows: split the file")
    ):
        list(rows_of(long, most_rows=1_000))
    blank = ["a\n", *["\n"] * 1_001]
    with pytest.raises(PriceFileError, match=exactly("more than 1,000 blank lines")):
        list(rows_of(blank, most_rows=1_000))


@pytest.mark.parametrize(
    ("line", "cells"), [("1\n", 1), ("1,2,3\n", 3), ('"1,2"\n', 1)]
)
def test_a_row_with_more_or_fewer_cells_is_refused(line: str, cells: int) -> None:
    message = f"line 3: {cells} cells, and the header has 2"
    with pytest.raises(PriceFileError, match=exactly(message)):
        list(rows_of(["a,b\n", "1,2\n", line]))


def test_bytes_that_are_not_csv_in_utf_8_are_refused() -> None:
    with pytest.raises(
        PriceFileError, match=r"^line 2: not valid CSV: .*expected after"
    ):
        list(rows_of(["a,b\n", '"1"2,3\n']))
    latin = TextIOWrapper(BytesIO(b"a,b\n1,\xff\n"), encoding="utf-8", newline="")
    with pytest.raises(
        PriceFileError,
        match=exactly("not UTF-8: byte 6; save the file as CSV in UTF-8"),
    ):
        list(rows_of(latin))
