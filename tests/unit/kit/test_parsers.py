"""JSON bodies: what is refused, where it says that the fault is, and what passes."""

import io
import json
from typing import Any

import pytest

from accounting.kit.parsers import BodyError, StrictJsonParser


def parsed(body: bytes | str) -> Any:
    raw = body if isinstance(body, bytes) else body.encode()
    return StrictJsonParser().parse(io.BytesIO(raw))


@pytest.mark.parametrize(
    "body",
    [
        {
            "slug": "a",
            "gpus": 8,
            "rate": 0.5,
            "none": None,
            "yes": True,
            "list": [1, "é"],
        },
        [],
        "text",
        17,
        {"emoji": "\N{GRINNING FACE}", "nested": {"a": [{"b": [[]]}]}},
        {"edges": [2**63 - 1, -(2**63), 1e18]},
    ],
)
def test_what_is_json_is_read(body: Any) -> None:
    assert parsed(json.dumps(body)) == body
    assert parsed(json.dumps(body, ensure_ascii=False)) == body


@pytest.mark.parametrize(
    ("body", "words", "pointer"),
    [
        ("", "is not JSON", "#"),
        ("{", "is not JSON", "#"),
        ("{'a': 1}", "line 1, column 2", "#"),
        ('{"a": 1} x', "is not JSON", "#"),
        (b'\xef\xbb\xbf{"a": 1}', "is not JSON", "#"),
        (b'{"a": "\xff"}', "not UTF-8 (byte 7)", "#"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8", "#"),
        ('{"a": 1, "b": 2, "a": 3}', "Duplicate member 'a'", "#"),
        ('{"x": [{"a": 1, "a": 1}]}', "Duplicate member 'a'", "#"),
        ('{"a": "b\\u0000"}', "U+0000 cannot be stored", "#/a"),
        ('{"a": [0, {"b/c~": "\\ud800"}]}', "U+D800", "#/a/1/b~1c~0"),
        ('{"a": {"\\u0000": 1}}', "U+0000", "#/a"),
        ('{"\\udc00": 1}', "U+DC00", "#"),
        ('{"a": NaN}', "NaN is not a number", "#"),
        ('{"a": -Infinity}', "-Infinity is not a number", "#"),
        ('{"a": 1e400}', "at most 64 bits", "#/a"),
        ('{"a": 9223372036854775808}', "at most 64 bits", "#/a"),
        ('{"a": -9223372036854775809}', "at most 64 bits", "#/a"),
        ('{"a": ' + "9" * 5000 + "}", "too large", "#"),
        ("[" * 33 + "]" * 33, "deeper than 32 levels", "#"),
        ("[" * 100_000, "nested", "#"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested", "#"),
    ],
)
def test_what_no_view_could_use_is_refused(
    body: str | bytes, words: str, pointer: str
) -> None:
    with pytest.raises(BodyError) as caught:
        parsed(body)
    assert words in str(caught.value.detail)
    assert caught.value.pointer == pointer
    str(caught.value.detail).encode()  # the answer itself can be sent


def test_32_levels_are_read() -> None:
    assert parsed("[" * 32 + "]" * 32)
