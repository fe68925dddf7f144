"""Exposition text as it should not be: refused at its line, or read as it stands.

Not here: what the ledger makes of it (tests/integration/metering/sources).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from accounting.metering.sources.exposition import (
    MAX_LINE,
    ExpositionError,
    Parser,
    RawSeries,
    limited_lines,
)
from accounting.metering.sources.text_limits import MOST_BARE, MOST_NAMES, TextLimits

NOW_MS = 1_790_848_800_000
Found = tuple[RawSeries, int, str]


def read(text: str | bytes, *, is_openmetrics: bool = False) -> list[Found]:
    """Every sample of a text; values as their exact representation."""
    body = text.encode() if isinstance(text, str) else text
    parser = Parser(default_ms=NOW_MS, latest_ms=NOW_MS + 1000)
    found = []
    lines = limited_lines([body])
    for series_id, at, value in parser.samples(lines, is_openmetrics=is_openmetrics):
        raw = parser.series[series_id]
        found.append((raw, at, repr(value)))
    return found


def values_of(text: str) -> list[str]:
    """The values of a text, exactly."""
    return [value for _, _, value in read(text)]


def labels_of(text: str) -> dict[str, str]:
    """The labels of a text's only sample."""
    [(raw, _, _)] = read(text)
    return dict(raw.labels)


WRONG = {
    "": None,
    "{}": "line 1: '' is not a valid metric name",
    "9a 1": "line 1: '9a' is not a valid metric name",
    "a-b 1": "line 1: 'a-b' is not a valid metric name",
    "a\x01b 1": "is not a valid metric name",
    "أ 1": "is not a valid metric name",
    "<html>": "not a valid metric name",
    '{"status":"success"}': "not a valid metric name",
    "a": "line 1: no value",
    "a{}": "line 1: no value",
    "a 1 2 3": "line 1: no value",
    "a one": "line 1: 'one' is not a valid number",
    "a 1,5": "is not a valid number",
    "a 1_000": "is not a valid number",
    "a ١٢": "is not a valid number",
    "a --1": "is not a valid number",
    "a 0xZZ": "is not a valid number",
    "a 1e": "is not a valid number",
    "a{b} 1": "line 1: labels not valid at 'b'",
    "a{b=1} 1": "labels not valid",
    "a{b='c'} 1": "labels not valid",
    'a{b="c} 1': "labels not valid",
    'a{b="c" d="e"} 1': "labels not valid",
    'a{1b="c"} 1': "labels not valid",
    'a{b-c="d"} 1': "labels not valid",
    'a{b="c"': "line 1",
    'a{b="c",b="d"} 1': "line 1: duplicate label",
    "a 1 soon": "line 1: 'soon' is not a valid time",
    "a 1 NaN": "is not a valid time",
    "a 1 1790848800²": "line 1: '1790848800²' is not a valid time",
    "a 1 ²": "line 1: '²' is not a valid time",
    "a ²": "line 1: '²' is not a valid number",
    "a 1 0x5F": "is not a valid time",
    "a 1 1e999": "is not a valid time",
    "a 1 -1": "is before 1970",
    "a 1 -99999999999999": "is before 1970",
    "a 1 1790848800": "appears to be in seconds",
    "a 1 946684799999": "is before 2000",
    f"a 1 {NOW_MS + 1001}": "is in the future; times are milliseconds",
    "a 1 1e30": "is in the future",
    "a 1\nb 2\nc": "line 3: no value",
    "a 1\n\n# b\nc": "line 4: no value",
}


@pytest.mark.parametrize("text", [text for text, said in WRONG.items() if said])
def test_wrong_line_is_named(text: str) -> None:
    said = WRONG[text]
    assert said is not None
    with pytest.raises(ExpositionError) as raised:
        read(text)
    assert said in str(raised.value)
    assert "line " in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a 1 1790848800", "line 1: the text ends without # EOF"),
        ("a 1 1790848800\n# EO", "ends without # EOF"),
        ("a 1 1790848800\n# EOF\nb 1 1790848800", "line 3: text after # EOF"),
        ("a 1 1790848800\n\n# EOF", "line 2: an empty line"),
        ("a 1 1790848800000\n# EOF", "is in the future; times are seconds"),
        ("a 1 0\n# EOF", "is before 2000"),
        ("a 1 -0.001\n# EOF", "is before 1970"),
    ],
)
def test_wrong_openmetrics_is_named(text: str, said: str) -> None:
    with pytest.raises(ExpositionError) as raised:
        read(text, is_openmetrics=True)
    assert said in str(raised.value)


def test_empty_text_has_no_samples() -> None:
    for text in ("", "\n", "\n\n", "# only a comment", " \t \n"):
        assert read(text) == []
    assert read("# EOF", is_openmetrics=True) == []


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("NaN", "nan"),
        ("nan", "nan"),
        ("+Inf", "inf"),
        ("-Inf", "-inf"),
        ("inf", "inf"),
        ("1e400", "inf"),
        ("-0", "-0.0"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("5E-1", "0.5"),
        ("0x10", "16.0"),
        ("9223372036854775794", "9.223372036854776e+18"),
        ("18446744073709551614", "1.8446744073709552e+19"),
        ("140737488355328", "140737488355328.0"),
        ("0.1000000000000000055511151231257827021181583404541015625", "0.1"),
    ],
)
def test_odd_numbers_are_read_as_they_stand(word: str, value: str) -> None:
    assert values_of(f"a {word}") == [value]


@pytest.mark.parametrize(
    ("word", "milliseconds"),
    [
        ("1790848800", 1_790_848_800_000),
        ("1790848800.0005", 1_790_848_800_000),  # half to even
        ("1790848800.0015", 1_790_848_800_002),
        ("1790848799.9995", 1_790_848_800_000),
        ("1.7908488e9", 1_790_848_800_000),
        ("+1790848800.25", 1_790_848_800_250),
    ],
)
def test_seconds_are_rounded_half_even(word: str, milliseconds: int) -> None:
    [(_, at, _)] = read(f"a 1 {word}\n# EOF", is_openmetrics=True)
    assert at == milliseconds


def test_long_label_is_read_whole() -> None:
    for length in (65_535, 65_536, 200_000):
        assert labels_of(f'a{{b="{"x" * length}"}} 1') == {"b": "x" * length}


def test_endless_line_is_refused_without_being_kept() -> None:
    pieces: Iterator[bytes] = (b"x" * 65_536 for _ in range(10**9))
    with pytest.raises(ExpositionError, match="line 1: longer than 1 MiB"):
        list(limited_lines(pieces))
    assert MAX_LINE == 1_048_576


def test_line_ends_of_windows_are_read() -> None:
    assert values_of("a 1\r\nb 2\r\n") == ["1.0", "2.0"]
    text = "a 1 1790848800\r\n# EOF\r\n"
    assert len(read(text, is_openmetrics=True)) == 1


def test_exemplars_are_passed_over() -> None:
    text = 'a_bucket{le="1"} 5 1790848800 # {trace="a}b # {"} 0.5 1790848799\n# EOF'
    [(raw, at, value)] = read(text, is_openmetrics=True)
    assert (raw.labels, at, value) == ((("le", "1"),), NOW_MS, "5.0")
    assert values_of('a 5 # {t="{}"} 1') == ["5.0"]


def test_same_sample_twice_stays_twice() -> None:
    assert values_of('a{b="c"} 1\na{b="c"} 1\na{b="c"} 2') == ["1.0", "1.0", "2.0"]


def escaped(text: str) -> str:
    """A label value as exporters write it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


ODD_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
) | st.sampled_from(
    ["} 1", ' # {a="b"} 1', "\u202eevil\u202c", "\ufeff", "\r", "\x85", "\u2028", "\\"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ODD_TEXT, max_size=4))
def test_any_label_value_comes_back(texts: list[str]) -> None:
    labels = {f"l{i}": text for i, text in enumerate(texts)}
    body = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    assert labels_of(f"a{{{body}}} 1 {NOW_MS}\n") == labels


GOOD = (
    '# HELP a Text.\n# TYPE a gauge\na{b="c",d="e\\n\\"\\\\"} 1.5 1790848800000\n'
    "a_total 1e3\nup 1 1790848800000\n"
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    body = bytearray(GOOD.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(place, min(len(body), place + 8)))
        body[place:end] = data.draw(st.binary(max_size=6))
    for is_openmetrics in (False, True):
        with suppress(ExpositionError):
            read(bytes(body), is_openmetrics=is_openmetrics)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b_total", "c:d"]),
            st.dictionaries(st.sampled_from(["x", "y", "z"]), ODD_TEXT, max_size=2),
            st.floats() | st.integers(-5, 5),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_official_parser_reads_the_same(
    samples: list[tuple[str, dict[str, str], float]],
) -> None:
    lines = []
    for name, labels, value in samples:
        body = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{body}}} {value} {NOW_MS}\n")
    text = "".join(lines)
    theirs = sorted(
        (sample.name, tuple(sorted(sample.labels.items())), repr(float(sample.value)))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    )
    ours = sorted(
        (raw.name, tuple(sorted(raw.labels)), value) for raw, _, value in read(text)
    )
    assert ours == theirs


NEXT = [  # lines after `a{x="1"} 1 1790848800000`, whose head they may begin with
    ('a{x="1"} 2 1790848800000', "2.0"),
    ('a{x="1"} 0 1790848800000', "0.0"),
    ('a{x="1"} -0 1790848800000', "-0.0"),
    ('a{x="1"}  3   1790848800000 ', "3.0"),
    ('a{x="1"} 3\t1790848800000', "3.0"),
    ('a{x="1"} NaN 1790848800000', "nan"),
    ('a{x="1"} +Inf 1790848800000\r', "inf"),
    ('a{x="1"} 0x10 1790848800000', "16.0"),
    ('a{x="1"} 4 1790848800000 # {trace="a"} 1', "4.0"),
    ('a{x="1"} 5', "5.0"),
    ('a{x="1"} 6 1790848800001', "6.0"),
    ('a{x="1"} 1e3 1790848800000', "1000.0"),
]


@pytest.mark.parametrize(("line", "value"), NEXT)
def test_a_line_says_the_same_after_one_of_its_series(line: str, value: str) -> None:
    before = 'a{x="1"} 1 1790848800000\n'
    [alone] = read(line + "\n")
    assert read(before + line + "\n")[1:] == [alone]
    assert read(before + line + "\n" + before + line + "\n")[3:] == [alone]
    assert alone[2] == value


@pytest.mark.parametrize(
    "line",
    [
        'a{x="1"}2 x',
        'a{x="1"} x 1790848800000',
        'a{x="1"} 1_0 1790848800000',
        'a{x="1"} ٣ 1790848800000',
        'a{x="1"} 1 1790848800000 2',
        'a{x="1"} 1 17908488x',
        'a{x="1"} ',
        'a{x="1"} {y="1"} 2 3',
    ],
)
def test_a_wrong_line_is_wrong_after_one_of_its_series(line: str) -> None:
    before = 'a{x="1"} 1 1790848800000\n' * 2
    with pytest.raises(ExpositionError, match=r"^line 3: "):
        read(before + line + "\n")


def test_a_line_after_the_end_is_wrong_also_where_it_goes_on() -> None:
    line = 'a{x="1"} 1 1790848800\n'
    with pytest.raises(ExpositionError, match="text after # EOF"):
        read(f"{line}# EOF\n{line}", is_openmetrics=True)


def spelled(count: int, size: int = 1) -> Iterator[str]:
    """Series of one metric, each with a label of some size."""
    for number in range(count):
        yield f'up{{pod="{number:0{size}}"}} 1'


@pytest.mark.parametrize(
    ("lines_of", "fault"),
    [
        (
            lambda: spelled(3),
            "line 3: more than 2 series, or 1 MiB of names and labels; split",
        ),
        (lambda: spelled(2, 600_000), "line 2: more than 2 series, or 1 MiB"),
        (
            lambda: (f"m{number} 1" for number in range(MOST_NAMES + 1)),
            f"line {MOST_NAMES + 1}: more than 100,000 names of metrics",
        ),
        (
            lambda: ("" for _ in range(MOST_BARE + 1)),
            f"line {MOST_BARE + 1}: more than 1,000,000 lines, and most of them without",
        ),
        (
            lambda: ("# x" for _ in range(MOST_BARE + 1)),
            "most of them without a sample",
        ),
    ],
    ids=["series", "labels", "names", "blank", "comments"],
)
def test_what_needs_memory_or_time_without_end_is_refused(
    lines_of: Callable[[], Iterator[str]], fault: str
) -> None:
    parser = Parser(
        keep=lambda name: name == "up",
        default_ms=NOW_MS,
        limits=TextLimits(most_series=2, most_bytes=1 << 20),
    )
    with pytest.raises(ExpositionError) as caught:
        for _ in parser.samples(lines_of(), is_openmetrics=False):
            pass
    assert fault in str(caught.value)


def test_long_lines_that_nobody_wants_are_not_remembered() -> None:
    parser = Parser(keep=lambda _name: False, default_ms=NOW_MS)
    lines = [*spelled(3), *spelled(3, 5_000), f"up {'0' * 70}1", f"up {'0' * 9}1"]
    assert list(parser.samples(lines, is_openmetrics=False)) == []
    assert sum(map(len, parser._unwanted)) < 100
    assert max(map(len, parser._values)) == 10
