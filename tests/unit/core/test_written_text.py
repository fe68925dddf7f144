"""Text that people write: what of it is refused, and with which words."""

import pytest

from accounting.core.written_text import glob_fault, hidden_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("vision", ""),
        ("Größe 東京 👍 «a» 1\N{NO-BREAK SPACE}000", ""),
        ("\u202evision", "contains U+202E (right-to-left override): leave it out"),
        ("a\u2066b", "contains U+2066 (left-to-right isolate): leave it out"),
        ("a\u200bb", "contains U+200B (zero width space): leave it out"),
        ("a\ufeff", "contains U+FEFF (zero width no-break space): leave it out"),
        ("a\x1b[31m", "contains U+001B (a control character): leave it out"),
        ("a\nb", "contains U+000A (a control character): leave it out"),
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", ""),  # Persian: I go
        ("\u0930\u094d\u200d\u092f", ""),  # Hindi: an eyelash ra
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467 on call", ""),  # a family
        ("\u2764\ufe0f\u200d\U0001f525", ""),  # a heart on fire
        ("\U0001f469\U0001f3fd\u200d\U0001f4bb", ""),  # an engineer
        ("vis\u200dion", "contains U+200D (zero width joiner): leave it out"),
        ("\u0645\u200c", "contains U+200C (zero width non-joiner): leave it out"),
        ("\u200c\u0645", "contains U+200C (zero width non-joiner): leave it out"),
        (
            "\u0645\u200c \u0645",
            "contains U+200C (zero width non-joiner): leave it out",
        ),
        (
            "\u0645\u200c\u200c\u0645",
            "contains U+200C (zero width non-joiner): leave it out",
        ),
        ("é\u200dé", "contains U+200D (zero width joiner): leave it out"),
        ("a\u00adb", "contains U+00AD (soft hyphen): leave it out"),
        ("a\u2028b", "contains U+2028 (line separator): leave it out"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, fault: str) -> None:
    assert hidden_fault(text) == fault


def test_a_text_of_several_lines_may_have_lines_only() -> None:
    assert hidden_fault("a\r\n\tb", has_lines=True) == ""
    assert "U+0000" in hidden_fault("a\n\0", has_lines=True)


@pytest.mark.parametrize(
    ("glob", "is_namespace", "is_fine"),
    [
        ("vision-*", True, True),
        ("team-[a-c]?", True, True),
        ("Vision", True, False),
        ("team_a", True, False),
        ("vision.dev", True, False),
        ("Vision_1.0", False, True),
        ("", False, True),
        ("a b", False, False),
        ("größe", False, False),
        ("\u202evision", True, False),
        ("\u202evision", False, False),
    ],
)
def test_a_glob_matches_names_that_there_can_be(
    glob: str, is_namespace: bool, is_fine: bool
) -> None:
    assert (glob_fault(glob, is_namespace=is_namespace) == "") == is_fine
