"""Text that people write: what of it is refused, and why.

A mark that turns the direction of text, or a character that is not visible, lets a name look like
another one in a list, a log or a spreadsheet. Joiners between characters that join are text:
Persian, Hindi and emoji of several people are not written without them.
"""

import re
from unicodedata import category, name

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
_SINGLE = ("LATIN ", "GREEK ", "CYRILLIC ")
_LINES = "\t\n\r"  # of text with several lines
_NAMESPACE = re.compile(r"[a-z0-9*?\[\]!-]*")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9._*?\[\]!-]*")


def hidden_fault(text: str, *, has_lines: bool = False) -> str:
    """What is wrong with a text, to follow its name; "" if every character can be seen.

    Args:
        text: any.
        has_lines: line breaks and tabs are allowed.
    """
    for place, letter in enumerate(text):
        if (has_lines and letter in _LINES) or _joins(text, place):
            continue
        if category(letter) in _HIDDEN:
            what = name(letter, "").lower() or "a control character"
            return f"contains U+{ord(letter):04X} ({what}): leave it out"
    return ""


def _joins(text: str, place: int) -> bool:
    """Whether this is a joiner between two characters that it can change."""
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    is_between = text[place] in _JOINERS and len(around) == 2
    return is_between and all(map(_is_joined, around))


def _is_joined(letter: str) -> bool:
    """Whether it can be joined: a letter, mark or symbol of no alphabet of single letters."""
    is_single = name(letter, "").startswith(_SINGLE)
    return not (letter.isascii() or is_single) and category(letter)[0] in "LMS"


def glob_fault(glob: str, *, is_namespace: bool) -> str:
    """What is wrong with the glob of a rule, to follow it; "" if some name can match.

    Args:
        glob: with `*`, `?` and `[a-c]`, as `fnmatch` has them.
        is_namespace: for names of namespaces; else for values of labels.
    """
    if fault := hidden_fault(glob):
        return fault
    if is_namespace and not _NAMESPACE.fullmatch(glob):
        return "matches no namespace: use a to z, 0 to 9 and -, with * and ? for others"
    if not is_namespace and not _LABEL_VALUE.fullmatch(glob):
        return "matches no label value: use a to z, A to Z, 0 to 9 and -._, with * and ? for others"
    return ""
