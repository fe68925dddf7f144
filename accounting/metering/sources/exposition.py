"""One parser for exporter text, kube-state text and dumps with timestamps.

A text that ends in `# EOF` is OpenMetrics (times in seconds), any other is Prometheus text
(milliseconds); times are rounded half-even to milliseconds (rules.md N2). Lines
are read from a stream: memory does not grow with the text. Every error names its line.
Sources: Prometheus text format 0.0.4; OpenMetrics 1.0 specification.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import TypeVar

from accounting.metering.sources.text_limits import Fault, TextLimits

MAX_KNOWN = 100_000  # numbers that are cached (about 15 MB)
MAX_LINE = 1_048_576  # bytes; enough for several labels of 64 KiB
# ignored series that are not checked again; bounded, to limit memory
REMEMBERED = 10_000
LONGEST_REMEMBERED = 4_096  # characters of one of them
LONGEST_WORD = 64  # characters of a number or time that is cached
EARLIEST_MS = 946_684_800_000  # year 2000; clocks that were never set start at 1970
FIRST_TEXT_MS = 100_000_000_000  # year 1973; smaller "milliseconds" are really seconds
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\\n]|\\.)*)"\s*(,|$)')
_HEAD = re.compile(r'[^\s{]+(?:\s*\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?')
_NAME_LABEL = "__name__"
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "\\": "\\", '"': '"'}
_NUMBERS = {"NaN", "+Inf", "-Inf", "Inf"}
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|0[xX][0-9a-fA-F]+", re.ASCII
)
_TIME = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
Number = TypeVar("Number", int, float)


class ExpositionError(ValueError):
    """A text that is not valid; the message says where, why and what to do."""


@dataclass(frozen=True, slots=True)
class RawSeries:
    """A series as spelled in the text: name and labels, in the text's order."""

    name: str
    labels: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Parser:
    """Turns lines into (series id, time, value); series are numbered as they appear.

    Attributes:
        series: the wanted ones, by id.
        default_ms: the time of samples without a timestamp; None rejects such samples.
        latest_ms: later times are errors; None allows any.
        skips_future: samples of later times are left out and counted.
        skipped: the number of such samples.
        keep: the wanted names; others are only checked for their syntax.
        look_at: called with each new series, wanted or not.
        limits: of what grows with the text.
    """

    keep: Callable[[str], bool] | None = None
    default_ms: int | None = None
    latest_ms: int | None = None
    skips_future: bool = False
    skipped: int = 0
    look_at: Callable[[RawSeries], None] | None = None
    limits: TextLimits = field(default_factory=TextLimits)
    series: list[RawSeries] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _unwanted: set[str] = field(default_factory=set)
    line: int = 0
    _values: dict[str, float] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)
    # the start of the previous line; the initial value matches no line
    _before: str = "\n"
    _before_id: int | None = None  # the series of the previous line

    # called once for each line: one more call would take a tenth of the time
    def samples(
        self, lines: Iterable[str], *, is_openmetrics: bool
    ) -> Iterator[tuple[int, int, float]]:
        """Every wanted sample, in the order of the text.

        Raises:
            ExpositionError: at the first line that is not valid.
        """
        ended = False
        values, times = self._values, self._times
        times.clear()  # the other format has other time units
        for text in lines:
            self.line += 1
            if text.startswith(self._before) and self._before_id is not None:
                # usually another sample of the same series, at a known time
                word, _, time = text[len(self._before) :].partition(" ")
                value = values.get(word)
                if value is None:
                    value = self._plain(word)
                if value is not None and (at := times.get(time)) is not None:
                    yield self._before_id, at, value
                    continue
            if ended:
                raise self._fault("text after # EOF", "remove it")
            if text.startswith("#"):
                ended = text.rstrip() == "# EOF"
                self._before = "\n"
                self._check(self.limits.bare(self.line))
                continue
            sample = self._sample(text, is_openmetrics=is_openmetrics)
            if sample is not None:
                yield sample
        if is_openmetrics and not ended:
            raise ExpositionError(
                f"line {self.line}: the text ends without # EOF and is truncated"
            )

    def _sample(
        self, text: str, *, is_openmetrics: bool
    ) -> tuple[int, int, float] | None:
        if not text.strip():
            if is_openmetrics:
                raise self._fault("an empty line", "OpenMetrics has none")
            self._check(self.limits.bare(self.line))
            return None
        head, rest = self._head(text)
        series_id = self._ids.get(head)
        if series_id is None and head not in self._unwanted:
            series_id = self._new(head)
        if "#" in rest:  # an exemplar
            rest = rest.partition("#")[0]
        words = rest.split()
        if not 1 <= len(words) <= 2:
            raise self._fault(
                f"no value in {text[:80]!r}", "expected `name value [time]`"
            )
        value = self._values.get(words[0])
        if value is None:
            value = _remember(self._values, words[0], self._value(words[0]))
        if len(words) == 1:
            at = self._now()
        elif (known := self._times.get(words[1])) is not None:
            at = known
        else:
            time = self._time(words[1], is_openmetrics=is_openmetrics)
            if self.latest_ms is not None and time > self.latest_ms:
                self.skipped += series_id is not None
                self._before = "\n"
                return None
            at = _remember(self._times, words[1], time)
        self._before, self._before_id = f"{head} ", series_id
        return None if series_id is None else (series_id, at, value)

    def _head(self, text: str) -> tuple[str, str]:
        if "#" in text:  # an exemplar, or a label value that looks like one
            match = _HEAD.match(text)
            if match is None:
                raise self._fault(
                    f"labels not valid in {text[:80]!r}", 'expected {a="b"}'
                )
            return match[0], text[match.end() :]
        brace = text.rfind("}")
        if brace >= 0:
            return text[: brace + 1], text[brace + 1 :]
        head, _, rest = text.partition(" ")
        return head, rest

    def _new(self, head: str) -> int | None:
        """The id of a new series; None if it is not wanted."""
        raw = self._spelled(head)
        self._check(self.limits.name(raw.name))
        if self.look_at is not None:
            self.look_at(raw)
        if self.keep is not None and not self.keep(raw.name):
            if len(self._unwanted) >= REMEMBERED:
                self._unwanted.clear()
            if len(head) <= LONGEST_REMEMBERED:
                self._unwanted.add(head)
            return None
        self._check(self.limits.series(len(self.series) + 1, head))
        self._ids[head] = len(self.series)
        self.series.append(raw)
        return self._ids[head]

    def _spelled(self, head: str) -> RawSeries:
        name, brace, body = head.partition("{")
        is_dumped = (
            not name and _NAME_LABEL in body
        )  # as `promtool tsdb dump` writes it
        labels = self._labels(body.removesuffix("}")) if is_dumped else ()
        if is_dumped:
            name = dict(labels).get(_NAME_LABEL, "")
            labels = tuple(pair for pair in labels if pair[0] != _NAME_LABEL)
        if not _NAME.fullmatch(name):
            raise self._fault(
                f"{name[:80]!r} is not a valid metric name", "is this metrics text?"
            )
        if brace and not is_dumped:
            labels = self._labels(body.removesuffix("}"))
        return RawSeries(name, labels)

    def _labels(self, body: str) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        position = 0
        body = body.rstrip()
        while position < len(body):
            match = _LABEL.match(body, position)
            if match is None:
                raise self._fault(
                    f"labels not valid at {body[position : position + 40]!r}",
                    'expected key="value"',
                )
            value = match[2]
            if "\\" in value:
                value = _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[0]), value)
            found.append((match[1], value))
            position = match.end()
        if len({key for key, _ in found}) != len(found):
            raise self._fault("duplicate label", "use each label once")
        return tuple(found)

    def _value(self, word: str) -> float:
        if _NUMBER.fullmatch(word) or word in _NUMBERS:
            return float(word) if word[:2].lower() != "0x" else float(int(word, 16))
        if word.lower() in {"nan", "inf", "+inf", "-inf"}:
            return float(word)
        raise self._fault(f"{word[:40]!r} is not a valid number", "expected a value")

    def _plain(self, word: str) -> float | None:
        """The value of a word that is a plain number; None if it may be something else."""
        if not _NUMBER.fullmatch(word):
            return None
        return _remember(self._values, word, self._value(word))

    def _time(self, word: str, *, is_openmetrics: bool) -> int:
        if not _TIME.fullmatch(word):
            raise self._fault(
                f"{word[:40]!r} is not a valid time", "expected a Unix time"
            )
        at = to_milliseconds(word) if is_openmetrics else round(Decimal(word))
        if at < 0:
            raise self._fault(
                f"time {word} is before 1970", "check the exporter's clock"
            )
        if not is_openmetrics and at < FIRST_TEXT_MS:
            raise self._fault(
                f"time {word} appears to be in seconds; Prometheus text uses milliseconds",
                "OpenMetrics text must end with # EOF: is it truncated?",
            )
        if at < EARLIEST_MS:
            raise self._fault(
                f"time {word} is before 2000", "check the exporter's clock"
            )
        is_future = self.latest_ms is not None and at > self.latest_ms
        if is_future and not self.skips_future:
            unit = "seconds" if is_openmetrics else "milliseconds"
            raise self._fault(
                f"time {word} is in the future",
                f"times are {unit} in this format; check clock and format. --skip-future leaves "
                "out such samples",
            )
        return at

    def _now(self) -> int:
        if self.default_ms is None:
            raise self._fault(
                "a sample without a timestamp",
                "files to import need a timestamp for every sample",
            )
        return self.default_ms

    def _check(self, fault: Fault | None) -> None:
        if fault is not None:
            raise self._fault(*fault)

    def _fault(self, what: str, advice: str) -> ExpositionError:
        return ExpositionError(f"line {self.line}: {what}; {advice}")


def _remember(known: dict[str, Number], word: str, number: Number) -> Number:
    """Cache the value of a word: a scrape has one time, and values repeat."""
    if len(known) >= MAX_KNOWN:
        known.clear()
    if len(word) <= LONGEST_WORD:
        known[word] = number
    return number


def to_milliseconds(seconds: str) -> int:
    """Whole milliseconds of a decimal text in seconds, half-even.

    Raises:
        ExpositionError: it is not a valid number.
    """
    whole, _, fraction = seconds.partition(".")
    is_plain = whole.isdecimal() and (fraction.isdecimal() or not fraction)
    if is_plain and len(fraction) <= 3:
        return int(whole) * 1000 + int(fraction.ljust(3, "0") or 0)
    try:
        return round(Decimal(seconds) * 1000)
    except ArithmeticError as error:
        raise ExpositionError(
            f"{seconds[:40]!r} is not a valid time in seconds"
        ) from error


def limited_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Decode bytes into lines, rejecting bytes that are not text, and lines without an end.

    Raises:
        ExpositionError: not UTF-8, NUL bytes, or a line of more than MAX_LINE bytes.
    """
    tail = b""
    number = 0
    for chunk in _as_utf8(chunks):
        tail += chunk
        if b"\0" in chunk:
            raise ExpositionError(f"after line {number}: binary data, not metrics text")
        whole, feed, tail = tail.rpartition(b"\n")
        count = whole.count(b"\n") + len(feed)
        if len(tail) > MAX_LINE:
            raise ExpositionError(f"line {number + count + 1}: longer than 1 MiB")
        if feed:
            try:
                yield from whole.decode().split("\n")
            except UnicodeDecodeError:  # add the line number
                for i, line in enumerate(whole.split(b"\n"), start=number + 1):
                    _decoded(line, i)
        number += count
    if tail:
        yield _decoded(tail, number + 1)


def _as_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks without a byte order mark; UTF-16 with one, as Windows writes it, as UTF-8."""
    chunks = iter(chunks)
    first = next(chunks, b"")
    while len(first) < len(codecs.BOM_UTF8) and (more := next(chunks, b"")):
        first += more
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            for text in codecs.iterdecode(chain([first], chunks), "utf-16"):
                yield text.encode()
        except UnicodeError as error:
            raise ExpositionError(
                f"not valid UTF-16 ({error}); save the file as UTF-8"
            ) from error
        return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ExpositionError(
            f"line {number}: not UTF-8 text ({error.reason})"
        ) from error
