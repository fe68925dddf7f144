"""Words that the product does not use: pages, messages, docstrings, comments and documents.

The language is plain American English as Kubernetes, FOCUS and Prometheus docs write it. The list
holds what is always wrong: metaphors and spellings that came up before, each with what to write
instead. A word that good English also uses is not on it: writers bend sentences around a ban.
Names in code are not read; names in backticks neither.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BANNED = (
    (r"(?:door)?bells?\b", "a worker is woken"),
    (r"doors?\b", "source, client or API"),
    (r"(?:stands?|stood)\b(?! for\b)", "is, is in, is shown"),
    (r"(?:lies|lie|lay)\b", "is"),
    (r"mourn\w*", "say what happens"),
    (r"(?<!there )(?:is|are) no (?!longer\b|more\b|such\b|data\b)", "is not a ..."),
    (r"anew\b", "again"),
    (r"set-ups?\b", "setup; set up"),
    (r"to be had\b", "available"),
    (r"weightiest\b", "with the largest impact"),
    (r"pre-empt\w*", "preempt"),
    (
        r"(?:utilis|organis(?!ationrole)|normalis|recognis|summaris|serialis|vectoris)\w*",
        "-ize",
    ),
    (r"(?:behaviour|favour|neighbour|colour)\w*", "-or"),
    (r"(?:centre|licence)s?\b", "center, license"),
    (r"(?:folds?|folding)\b(?! them\b)", "merge"),
    (r"askers?\b", "person"),
    (r"for ever\b(?!\")", "indefinitely"),
    (r"(?:mend|heal)(?:s|ed|ing)?\b", "correct, repair, fix"),
    (r"push(?:es|ed|ing)? out\b", "preempt"),
    (r"\d+(?:\.\d+)? %(?![% ]*\d|%)", "95%, without a space"),
)
"""Regular expressions of whole words, any case, and what to write instead."""

_ANY = re.compile(
    "|".join(rf"(?<![\w./-]){pattern}" for pattern, _ in BANNED), re.IGNORECASE
)
_CODE = re.compile(r"`[^`\n]*`|\{[^{}\n]*\}|\{\{.*?\}\}|\{%.*?%\}|https?://\S+|\w+_\w+")
_FENCE = re.compile(r"^\s*```")


def banned_in(text: str) -> list[str]:
    """The words of a line of prose that are on the list.

    Args:
        text: one line; what is in backticks or braces, and names with `_`, are not read.
    """
    return [found.group() for found in _ANY.finditer(_CODE.sub(" ", text))]


def advice_on(word: str) -> str:
    """What to write instead of a word that `banned_in` found."""
    for pattern, advice in BANNED:
        if re.fullmatch(pattern, word, re.IGNORECASE) or re.match(
            pattern, word + " x", re.IGNORECASE
        ):
            return advice
    raise ValueError(f"{word!r} is not on the list")


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file that people read, with their numbers.

    Of Python the comments and strings, of documents what is not fenced code, of templates all.
    """
    text = path.read_text()
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                for offset, line in enumerate(token.string.splitlines()):
                    yield token.start[0] + offset, line
        return
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if path.suffix == ".md" and _FENCE.match(line):
            is_code = not is_code
        if not is_code:
            yield number, line


def files() -> list[Path]:
    """Product code, templates and documents; a decision keeps the words of its day."""
    code = [
        path
        for folder in ("accounting", "scheduler_view", "portal", "bench", "deploy")
        for pattern in ("*.py", "*.md")
        for path in (ROOT / folder).rglob(pattern)
        if "migrations" not in path.parts
    ]
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return sorted([*code, *documents, *(ROOT / "templates").rglob("*.html")])


def test_pages_code_and_documents_use_plain_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word!r}; write: {advice_on(word)}"
        for path in files()
        for number, line in prose_of(path)
        for word in banned_in(line)
    ]
    assert not found, f"{len(found)} banned words\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "'x' is no slug",
        "Redis only rings the bell.",
        "The set-up file",
        "GPU utilisation",
        "what stands in the list",
        "a wait without an asker",
        "Folds the samples of a period",
    ],
)
def test_a_banned_word_is_found(line: str) -> None:
    (word,) = banned_in(line)
    assert advice_on(word)


@pytest.mark.parametrize(
    "line",
    [
        "There is no price yet. It is no longer valid.",
        "what one unit stands for",
        "It starts by itself and asks for a password.",
        "`bell` is a name, and so is colour_slot",
        "a whole hour",
    ],
)
def test_plain_words_pass(line: str) -> None:
    assert banned_in(line) == []
