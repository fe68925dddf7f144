"""What a header may contain, when a message is tried again, and what ends it (decision 51)."""

import re
from datetime import timedelta
from enum import StrEnum

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
MOST_ATTEMPTS = 53
"""Two days of attempts, whatever a clock says. RFC 5321 4.5.4.1 asks relays for four to five days;
what is told here is old by then, and stays readable in the product."""
KEPT = timedelta(days=90)
"""How long a message is kept after it ended, with its text."""
LONGEST_SUBJECT = 200  # characters

NO_SERVER = "No mail server is set."
NO_ADDRESS = "This person has no mail address."
TURNED_OFF = "This person turned these messages off."
DEACTIVATED = "This person's account is deactivated."


class Delivery(StrEnum):
    """What becomes of a question, as a sentence for who asked; `to` is as they typed it."""

    MAILED = "Your message to {to} is on its way."
    NO_SERVER = "No mail server is set, so that nothing was mailed to {to}."
    NO_ADDRESS = "{to} has no mail address, and finds your message under Notifications."
    NOBODY = "{to} has no account that takes messages, so that nothing was sent."


# Control and format characters, line and paragraph separators: they break headers or turn text
# around (Unicode categories Cc, Zl, Zp, and the bidirectional controls of UAX 9).
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]+"
)
_OF_BODIES = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def one_line(text: str) -> str:
    """A text in one line without hidden characters: labels of pods and names may contain any."""
    return " ".join(_HIDDEN.sub(" ", text).split())


def header_text(text: str) -> str:
    """One line for a header.

    Returns at most `LONGEST_SUBJECT` characters; "(no subject)" for a text without any.
    """
    line = one_line(text)
    if len(line) > LONGEST_SUBJECT:
        line = f"{line[: LONGEST_SUBJECT - 1].rstrip()}…"
    return line or "(no subject)"


def body_text(text: str) -> str:
    """A body without characters that PostgreSQL or mail cannot carry; lines end with LF."""
    return _OF_BODIES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def pause_after(attempts: int) -> timedelta:
    """How long to wait after so many failed attempts (1 or more): 1, 2, 4 min to 1 h."""
    return min(FIRST_PAUSE * (1 << min(attempts - 1, 10)), LONGEST_PAUSE)


def is_final(code: int) -> bool:
    """Whether a mail server's reply code refuses for good (RFC 5321 4.2.1: 5yz)."""
    return 500 <= code < 600
